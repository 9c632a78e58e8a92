"""The weights of one unit side by side in one flat buffer, so that moving the unit is a single copy."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .pinning import HostBuffer, Pinner
from .units import Unit

# Kernels for few rows give other bits when a weight is not 16-byte aligned; allocators start at 64 bytes or more.
ALIGNMENT = 64


def padded(num_bytes: int) -> int:
    """`num_bytes` rounded up to the alignment."""
    return -(-num_bytes // ALIGNMENT) * ALIGNMENT


class Pack:
    """One unit's weights: in a host buffer, in a device buffer of their own, or in a slot of a ring.

    Every tensor starts at a 64-byte boundary of whichever buffer it is in, so that results do not depend on the place.

    Args:
        unit: Its weights are moved into a host buffer at once, and their parameters are views of it from then on.
        is_strict: Parameters at rest are meta tensors (S175).
    """

    def __init__(self, unit: Unit, is_strict: bool) -> None:
        self.unit = unit
        self.device_buffer: torch.Tensor | None = None
        self.depth = 0  # of nested forwards that use it; the streamer's
        self._is_strict = is_strict
        self._layout: list[tuple[int, torch.dtype, torch.Size]] = []
        self.num_bytes = 0
        for weight in unit.weights:
            self._layout.append((self.num_bytes, weight.tensor.dtype, weight.tensor.shape))
            self.num_bytes += padded(weight.tensor.nbytes)
        # Outside strict mode a parameter keeps its identity for ever; looking it up anew would cost more than the swap.
        self._parameters = [] if is_strict else [weight.tensor for weight in unit.weights]
        self._views: dict[int, list[torch.Tensor]] = {}
        self._host: HostBuffer | None = HostBuffer(self.num_bytes)
        for weight, view in zip(unit.weights, self._views_of(self._host.tensor), strict=True):
            view.copy_(weight.tensor.data)
        self.park()

    @property
    def host(self) -> torch.Tensor | None:
        """[num_bytes] uint8, the host copy; None while a resident unit goes without."""
        return self._host.tensor if self._host else None

    def pin(self, pinner: Pinner, device: torch.device) -> None:
        """Have the host copy pinned for copies to `device`, where that is possible and there is room (S131, S132)."""
        if self._host:
            pinner.pin(self._host, device)

    @property
    def modules(self) -> list[torch.nn.Module]:
        """The unit's own module and every module that holds one of its weights, each once."""
        owners = (owner for weight in self.unit.weights for owner, _ in weight.owners)
        return list(dict.fromkeys([self.unit.module, *owners]))

    def point_at(self, buffer: torch.Tensor) -> None:
        """Make the parameters views of `buffer`, which holds the unit's bytes from its start on."""
        views = self._views.get(buffer.data_ptr())
        if views is None:
            views = self._views[buffer.data_ptr()] = self._views_of(buffer)
        if self._is_strict:
            self._replace(views)
        else:
            for parameter, view in zip(self._parameters, views, strict=True):
                parameter.data = view

    def move_to(self, buffer: torch.Tensor) -> None:
        """Be resident in `buffer`, which holds the unit's bytes."""
        self.device_buffer = buffer
        self.point_at(buffer)

    def move_home(self) -> None:
        """Leave the device buffer; its bytes are copied back if there is no host copy."""
        assert self.device_buffer is not None
        if self._host is None:
            self._host = HostBuffer(self.num_bytes)
            self._host.tensor.copy_(self.device_buffer)
        self.park()
        self.forget(self.device_buffer)
        self.device_buffer = None

    def drop_host(self) -> None:
        """Free the host copy of a resident unit."""
        if self._host is not None:
            self.forget(self._host.tensor)
            self._host = None

    def park(self) -> None:
        """Point the parameters away from the device: at the host buffer, or at nothing in strict mode."""
        if self._is_strict:
            with torch.inference_mode(False):
                nowhere = [torch.empty(shape, dtype=dtype, device="meta") for _, dtype, shape in self._layout]
            self._replace(nowhere)
        elif self._host is not None:
            self.point_at(self._host.tensor)

    def forget(self, buffer: torch.Tensor) -> None:
        """Drop the views of a buffer that is going away; they would keep its memory."""
        self._views.pop(buffer.data_ptr(), None)

    def _replace(self, tensors: Sequence[torch.Tensor]) -> None:
        # On the way to and from meta a parameter is a new one; made in inference mode it would take other kernels.
        with torch.inference_mode(False):
            for weight, tensor in zip(self.unit.weights, tensors, strict=True):
                weight.point_at(tensor)

    def _views_of(self, buffer: torch.Tensor) -> list[torch.Tensor]:
        # Made outside inference mode: a parameter that became an inference tensor takes other kernels (S136).
        with torch.inference_mode(False):
            return [
                buffer[offset : offset + shape.numel() * dtype.itemsize].view(dtype).view(shape)
                for offset, dtype, shape in self._layout
            ]
