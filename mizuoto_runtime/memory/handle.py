"""One module whose weights can be on its load device wholly, partly or not at all."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import nn

from ..device import CPU, DeviceService
from .plan import Kind, fitting_units, placement_order
from .units import Layout, Unit, Weight, layout_of

ALL = math.inf


class ModelHandle:
    """Weights with a place; engines read only `module` and `compute_device` (S020-S022).

    Args:
        name: Shown to users, `engine/model:component`.
        module: Built on the CPU outside inference mode; nobody else may move it.
        load_device: Where it runs.
        devices: Does the copying.
        kind: "sequence" for autoregressive models, else "oneshot"; decides what is placed first.
        marks: Submodule -> "hot" (placed before all others) or "fixed" (never apart from the fixed part), children
            included (S117).
        keeps_host_copies: Whether a placed weight keeps its CPU tensor, so that leaving needs no transfer.

    `attachment` belongs to the memory host, which keeps there whatever must live exactly as long as the handle.
    """

    def __init__(
        self,
        name: str,
        module: nn.Module,
        load_device: torch.device,
        devices: DeviceService,
        kind: Kind = "oneshot",
        marks: Mapping[nn.Module, str] | None = None,
        keeps_host_copies: bool = True,
    ) -> None:
        self.name = name
        self.module = module
        self.kind: Kind = kind
        self.load_device = load_device
        self.offload_device = CPU
        self.compute_device = devices.compute_device(load_device)
        self.is_managed = devices.is_managed(load_device)
        self.last_used = 0.0
        self.attachment: object | None = None
        self._devices = devices
        self._keeps_host_copies = keeps_host_copies
        self._layout = layout_of(module, marks)
        self._placed: list[Unit] = []  # in placement order
        self._fixed_is_placed = False
        self._host_copies: dict[Weight, torch.Tensor] = {}
        if self.is_managed:
            self._park(self._all_weights())
        self._busy = 0  # last: tells __del__ that the handle is complete

    def __del__(self) -> None:
        # A simulated device cannot see tensors die; a real allocator needs no telling.
        if getattr(self, "_busy", None) is not None and self.is_managed:
            self._devices.forget(self.loaded_bytes, self.load_device)

    @property
    def layout(self) -> Layout:
        """Fixed part and units."""
        return self._layout

    @property
    def dtype_name(self) -> str:
        """What its floating-point weights are stored in, such as "float32"."""
        dtypes = (parameter.dtype for parameter in self.module.parameters() if parameter.is_floating_point())
        return str(next(dtypes, "")).removeprefix("torch.")

    @property
    def size_bytes(self) -> int:
        """Bytes on the device when placed whole."""
        return self._layout.size_bytes

    @property
    def minimum_bytes(self) -> int:
        """The least that must be on the device for the module to run: all of it, since no unit streams yet."""
        return self.size_bytes

    @property
    def loaded_bytes(self) -> int:
        """Bytes on the load device now, `0 <= loaded_bytes <= size_bytes`; all of them where nothing has to move."""
        if not self.is_managed:
            return self.size_bytes
        return self._layout.fixed_bytes * self._fixed_is_placed + sum(unit.num_bytes for unit in self._placed)

    @property
    def host_bytes(self) -> int:
        """Bytes of weights held in host memory."""
        if not self.is_managed:
            return self.size_bytes
        copies = sum(tensor.nbytes for tensor in self._host_copies.values())
        return copies if self._is_strict else self.size_bytes - self.loaded_bytes + copies

    @property
    def is_ready(self) -> bool:
        """Whether the module can run."""
        return self.loaded_bytes >= self.size_bytes

    @property
    def is_busy(self) -> bool:
        """Whether a phase uses it right now."""
        return self._busy > 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """Busy inside the block; `last_used` is set at its end."""
        self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1
            self.last_used = time.monotonic()

    def place(self, budget: float = ALL) -> int:
        """Bring the fixed part and then units onto the load device, at most `budget` further bytes.

        Returns the bytes added; 0 when not even the fixed part fits the budget. An error in the middle (out of
        memory) leaves the weights that already arrived in place and accounted for.
        """
        if not self.is_managed:
            return 0
        before = self.loaded_bytes
        with torch.inference_mode(False):
            if not self._fixed_is_placed:
                if self._layout.fixed_bytes > budget:
                    return 0
                self._bring(self._layout.fixed)
                self._fixed_is_placed = True
                budget -= self._layout.fixed_bytes
            for unit in self._missing_units(budget):
                self._bring(unit.weights)
                self._placed.append(unit)
        return self.loaded_bytes - before

    def release(self, num_bytes: float = ALL) -> int:
        """Free at least `num_bytes` on the device, unit by unit in reverse placement order, the fixed part last.

        Returns the bytes freed, less than asked only when nothing is left. Idempotent; waits for the device first.
        """
        if not self.is_managed or not self.loaded_bytes:
            return 0
        self._devices.synchronize(self.load_device)
        freed = 0
        with torch.inference_mode(False):
            while freed < num_bytes and self._placed:
                unit = self._placed.pop()
                self._send_back(unit.weights)
                freed += unit.num_bytes
            if freed < num_bytes and self._fixed_is_placed:
                self._send_back(self._layout.fixed)
                self._fixed_is_placed = False
                freed += self._layout.fixed_bytes
        return freed

    def _missing_units(self, budget: float) -> list[Unit]:
        units = self._layout.units
        sizes = [unit.num_bytes for unit in units]
        order = placement_order(sizes, [unit.is_hot for unit in units], self.kind)
        missing = [index for index in order if units[index] not in self._placed]
        return [units[index] for index in fitting_units(missing, sizes, budget)]

    def _all_weights(self) -> Iterator[Weight]:
        yield from self._layout.fixed
        for unit in self._layout.units:
            yield from unit.weights

    @property
    def _is_strict(self) -> bool:
        return self._devices.is_strict(self.load_device)

    def _bring(self, weights: Sequence[Weight]) -> None:
        """Copy first, point at the copies after: a copy that fails leaves no weight half moved."""
        copies: list[torch.Tensor] = []
        try:
            for weight in weights:
                copies.append(
                    self._devices.copy_in(self._host_copies.get(weight, weight.tensor).data, self.load_device)
                )
        except BaseException:
            self._devices.forget(sum(copy.nbytes for copy in copies), self.load_device)
            raise
        for weight, copy in zip(weights, copies, strict=True):
            if self._keeps_host_copies and not self._is_strict and not weight.is_buffer:
                self._host_copies[weight] = weight.tensor.data
            weight.point_at(copy)

    def _send_back(self, weights: Sequence[Weight]) -> None:
        for weight in weights:
            on_device = weight.tensor.data
            if self._is_strict:
                if weight.is_buffer:
                    self._host_copies[weight] = on_device
                weight.point_at(torch.empty_like(on_device, device="meta"))
            else:
                kept = self._host_copies.pop(weight, None)
                weight.point_at(on_device.to(self.offload_device) if kept is None else kept)
            self._devices.forget(on_device.nbytes, self.load_device)

    def _park(self, weights: Iterator[Weight]) -> None:
        """On a strict simulated device a weight that has not been placed is unusable from the start."""
        if self._is_strict:
            for weight in list(weights):
                self._host_copies[weight] = weight.tensor.data
                weight.point_at(torch.empty_like(weight.tensor.data, device="meta"))
