"""The fixed part of a handle: embeddings, norms, biases, buffers; on the device whenever any of the handle is."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..device import CPU, DeviceService
from .units import Weight, nowhere


class FixedPart:
    """Weights that move together, each by a copy of its own.

    Args:
        weights: May include buffers; those may change on the device and are always copied back (S142).
        device: Where they run.
        devices: Does the copying.
        keeps_host_copies: Whether a parameter on the device keeps its CPU tensor.
    """

    def __init__(
        self, weights: Sequence[Weight], device: torch.device, devices: DeviceService, keeps_host_copies: bool
    ) -> None:
        self.weights = tuple(weights)
        self.num_bytes = sum(weight.tensor.nbytes for weight in self.weights)
        self.is_placed = False
        self._device = device
        self._devices = devices
        self._is_strict = devices.is_strict(device)
        self._keeps_host_copies = keeps_host_copies or self._is_strict
        self._host_copies: dict[Weight, torch.Tensor] = {}
        if self._is_strict:
            for weight in self.weights:
                self._host_copies[weight] = weight.tensor.data
                weight.point_at(nowhere(weight.tensor.shape, weight.tensor.dtype))

    @property
    def host_bytes(self) -> int:
        """Bytes in host memory."""
        if not self.is_placed:
            return self.num_bytes
        return sum(tensor.nbytes for tensor in list(self._host_copies.values()))  # read by other threads

    def drop_host_copies(self) -> None:
        """Free the CPU tensors of what is on the device."""
        if self.is_placed and not self._is_strict:
            self._host_copies.clear()

    def bring(self) -> None:
        """Onto the device: copies first, pointers after, so that a copy that fails leaves nothing half moved."""
        copies: list[torch.Tensor] = []
        try:
            for weight in self.weights:
                source = self._host_copies.get(weight, weight.tensor.data)
                copies.append(self._devices.copy_in(source, self._device))
        except BaseException:
            self._devices.forget(sum(copy.nbytes for copy in copies), self._device)
            raise
        for weight, copy in zip(self.weights, copies, strict=True):
            if self._keeps_host_copies and not weight.is_buffer and not self._is_strict:
                self._host_copies[weight] = weight.tensor.data
            weight.point_at(copy)
        self.is_placed = True

    def send_back(self) -> None:
        """Off the device."""
        for weight in self.weights:
            on_device = weight.tensor.data
            if self._is_strict:
                if weight.is_buffer:
                    self._host_copies[weight] = on_device
                weight.point_at(nowhere(on_device.shape, on_device.dtype))
            else:
                kept = self._host_copies.pop(weight, None)
                weight.point_at(on_device.to(CPU) if kept is None else kept)
        self._devices.forget(self.num_bytes, self._device)
        self.is_placed = False
