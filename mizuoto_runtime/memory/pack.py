"""The weights of one unit side by side in one flat buffer, so that moving the unit is a single copy."""

from __future__ import annotations

import torch
from torch import nn

from .pinning import HostBuffer, Pinner
from .units import Unit, nowhere

# Where a module keeps a parameter: its registry, the name there, and the parameter.
_Place = tuple[dict[str, nn.Parameter | None], str, nn.Parameter | None]

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
        is_strict: Parameters at rest are `nowhere` (S175).
    """

    def __init__(self, unit: Unit, is_strict: bool) -> None:
        self.unit = unit
        self.device_buffer: torch.Tensor | None = None
        self.depth = 0  # how many forwards that use it are under way; the streamer's
        self._is_strict = is_strict
        self._layout: list[tuple[int, torch.dtype, torch.Size]] = []
        self.num_bytes = 0
        for weight in unit.weights:
            self._layout.append((self.num_bytes, weight.tensor.dtype, weight.tensor.shape))
            self.num_bytes += padded(weight.tensor.nbytes)
        self._own = [
            (owner._parameters, attribute, owner._parameters[attribute])
            for weight in unit.weights
            for owner, attribute in weight.owners
        ]
        self._lent: dict[int, list[_Place]] = {}
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

    def pin_for_streaming(self, pinner: Pinner, device: torch.device) -> None:
        """As `pin`; where memory cannot be pinned in place, the host copy moves into memory that is pinned (S135)."""
        if self._host is None:
            return
        buffer = pinner.for_streaming(self._host, device)
        if buffer is not self._host:
            self._host = buffer
            self.park()

    def is_pinned(self, pinner: Pinner) -> bool:
        """Whether there is a host copy and it is pinned."""
        return self._host is not None and pinner.is_pinned(self._host)

    @property
    def modules(self) -> list[torch.nn.Module]:
        """The unit's own module and every module that holds one of its weights, each once."""
        owners = (owner for weight in self.unit.weights for owner, _ in weight.owners)
        return list(dict.fromkeys([self.unit.module, *owners]))

    def point_at(self, buffer: torch.Tensor) -> None:
        """Make the parameters views of `buffer`, which holds the unit's bytes from its start on."""
        for weight, view in zip(self.unit.weights, self._views_of(buffer), strict=True):
            weight.point_at(view)

    def swap_in(self, buffer: torch.Tensor) -> None:
        """Have the modules read from `buffer` until `swap_out`; their own parameters stay as they are meanwhile.

        The parameters in their place are made once a buffer: that is several times cheaper than `param.data = view`.
        """
        places = self._lent.get(buffer.data_ptr())
        if places is None:
            places = self._lent[buffer.data_ptr()] = self._places_in(buffer)
        for registry, name, parameter in places:
            registry[name] = parameter

    def swap_out(self) -> None:
        """Give the modules their own parameters back."""
        for registry, name, parameter in self._own:
            registry[name] = parameter

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
        self.device_buffer = None

    def drop_host(self) -> None:
        """Free the host copy of a resident unit."""
        self._host = None

    def park(self) -> None:
        """Point the parameters away from the device: at the host buffer, or at nothing in strict mode."""
        if self._is_strict:
            for weight, (_, dtype, shape) in zip(self.unit.weights, self._layout, strict=True):
                weight.point_at(nowhere(shape, dtype))
        elif self._host is not None:
            self.point_at(self._host.tensor)

    def forget(self, buffer: torch.Tensor) -> None:
        """Drop the parameters of a buffer that is going away; they would keep its memory."""
        self._lent.pop(buffer.data_ptr(), None)

    def _places_in(self, buffer: torch.Tensor) -> list[_Place]:
        places: list[_Place] = []
        # A parameter made in inference mode would take other kernels, and so would one that differs in requires_grad.
        with torch.inference_mode(False):
            for weight, view in zip(self.unit.weights, self._views_of(buffer), strict=True):
                own = weight.tensor
                parameter = nn.Parameter(view, requires_grad=own.requires_grad)
                vars(parameter).update(vars(own))
                places += [(owner._parameters, attribute, parameter) for owner, attribute in weight.owners]
        return places

    def _views_of(self, buffer: torch.Tensor) -> list[torch.Tensor]:
        # Made outside inference mode: a parameter that became an inference tensor takes other kernels (S136).
        with torch.inference_mode(False):
            return [
                buffer[offset : offset + shape.numel() * dtype.itemsize].view(dtype).view(shape)
                for offset, dtype, shape in self._layout
            ]
