"""Pinned host memory: buffers that can be registered with the driver in place, and the one budget for all of them.

Copies from pinned memory run beside the computation and at the speed of the link (S129-S135). What goes into a buffer
and when it is copied is not decided here.
"""

from __future__ import annotations

import logging
import mmap
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol
from weakref import finalize

import numpy as np
import torch

log = logging.getLogger("mizuoto.memory")

MIN_PINNED_BYTES = 1 << 20  # below it, registering costs more than pageable copies (S133)
_PORTABLE = 1  # cudaHostRegisterPortable: pinned for every device of the process


class HostBuffer:
    """Page-aligned private host memory that shares no page with anything else.

    `tensor` is [num_bytes] uint8, uninitialised. The memory lives as long as any view of it, with or without this
    object: `_memory` is the array that every view's storage holds on to, and dies just before the bytes are freed.
    """

    def __init__(self, num_bytes: int) -> None:
        page = mmap.PAGESIZE
        self.num_bytes = num_bytes
        self._memory = np.empty(_whole_pages(num_bytes) + page, dtype=np.uint8)
        start = -self._memory.ctypes.data % page
        with torch.inference_mode(False):
            self.tensor = torch.from_numpy(self._memory[start : start + num_bytes])

    @property
    def pointer(self) -> int:
        """Address of the first byte."""
        return self.tensor.data_ptr()


class PinnedCopy(HostBuffer):
    """A buffer in memory that was pinned when it was allocated, with the bytes of another (S135)."""

    def __init__(self, source: HostBuffer, allocate: Callable[[int], torch.Tensor]) -> None:
        self.num_bytes = source.num_bytes
        with torch.inference_mode(False):
            self.tensor = allocate(source.num_bytes).copy_(source.tensor)


class PinBackend(Protocol):
    """Who registers memory: the driver itself, or a host that counts pins of its own."""

    def room_bytes(self) -> float:
        """How much more may be pinned, as far as others are concerned."""
        ...

    def register(self, tensor: torch.Tensor, device: torch.device) -> bool:
        """Pin the memory of `tensor`, [num_bytes] uint8, for copies to `device`; False leaves no error pending."""
        ...

    def unregister(self, pointer: int, num_bytes: int, device: torch.device) -> bool:
        """Undo `register`, while the memory still exists but no tensor can be had from its owner any more."""
        ...

    def synchronize(self, device: torch.device) -> None:
        """Wait for everything queued on `device`, copies above all."""
        ...


class CudaPins:
    """The driver's own registration, 14 GB/s in place (S131). Implements `PinBackend`."""

    def room_bytes(self) -> float:
        """Without limit: nobody else is known."""
        return float("inf")

    def register(self, tensor: torch.Tensor, device: torch.device) -> bool:
        """See `PinBackend.register`."""
        # Typed loosely: the bindings take the flags, their type stubs differ between versions of torch.
        cudart: Any = torch.cuda.cudart()
        if int(cudart.cudaHostRegister(tensor.data_ptr(), tensor.nbytes, _PORTABLE)) == 0:
            return True
        discard_pending_error(device)
        return False

    def unregister(self, pointer: int, num_bytes: int, device: torch.device) -> bool:
        """See `PinBackend.unregister`."""
        cudart: Any = torch.cuda.cudart()
        if int(cudart.cudaHostUnregister(pointer)) == 0:
            return True
        discard_pending_error(device)
        return False

    def synchronize(self, device: torch.device) -> None:
        """See `PinBackend.synchronize`."""
        torch.cuda.synchronize(device)


def pinned_memory(num_bytes: int) -> torch.Tensor:
    """[num_bytes] uint8, uninitialised, from torch's allocator of pinned memory: CUDA and ROCm."""
    return torch.empty(num_bytes, dtype=torch.uint8, pin_memory=True)


def can_pin_in_place() -> bool:
    """Whether this process runs on NVIDIA; on ROCm and all others nothing is pinned in place (S135)."""
    return torch.version.cuda is not None and torch.cuda.is_available()


@dataclass(frozen=True, slots=True)
class _Pin:
    num_bytes: int
    finalizer: finalize[..., Any]


class Pinner:
    """Pins host buffers, each once, all within one budget: in place, or what streams as a copy.

    A pin ends by itself when the last view of its buffer dies: the device is waited for and the memory unregistered
    before it is freed (S134). Whatever cannot be pinned stays pageable, which is slower and otherwise the same.

    Args:
        budget_bytes: For all pins of this object together.
        backend: Pins in place; default: none.
        allocate: Pinned memory of so many bytes, for copies of what cannot be pinned in place; default: none.
    """

    def __init__(
        self,
        budget_bytes: float,
        backend: PinBackend | None = None,
        allocate: Callable[[int], torch.Tensor] | None = None,
    ) -> None:
        self.budget_bytes = budget_bytes if backend or allocate else 0
        self._backend = backend
        self._allocate = allocate
        self._pins: dict[int, _Pin] = {}  # by pointer, which is unique as long as the memory exists
        # Guards only the way in. Finalizers run at any moment in any thread, in here too, and must not wait: they
        # do nothing but single dictionary operations.
        self._pinning = threading.Lock()
        self._has_warned = False

    @property
    def pinned_bytes(self) -> int:
        """Bytes pinned now, whole pages."""
        return sum(pin.num_bytes for pin in self._pins.copy().values())

    @property
    def room_bytes(self) -> float:
        """Bytes that can still be pinned; never negative."""
        room = self._backend.room_bytes() if self._backend else self.budget_bytes
        return max(0, min(self.budget_bytes - self.pinned_bytes, room))

    def is_pinned(self, buffer: HostBuffer) -> bool:
        """Whether `buffer` is pinned now."""
        return buffer.pointer in self._pins

    def pin(self, buffer: HostBuffer, device: torch.device) -> bool:
        """Pin `buffer` for copies to `device`; whether it is pinned afterwards.

        False, and pageable as before, where in-place pinning does not exist, below 1 MB, beyond the budget, or when
        the driver refuses (logged once).
        """
        if self._backend is None or device.type != "cuda" or buffer.num_bytes < MIN_PINNED_BYTES:
            return False
        with self._pinning:
            if self.is_pinned(buffer):
                return True
            if _whole_pages(buffer.num_bytes) > self.room_bytes:
                return False
            return self._register(buffer, device, self._backend)

    def for_streaming(self, buffer: HostBuffer, device: torch.device) -> HostBuffer:
        """The buffer to stream the bytes of `buffer` from to `device` (S133, S135).

        `buffer` itself if it can be pinned in place. Else a pinned copy, which takes its place: below 1 MB, and on
        ROCm. `buffer` as it is where neither can be had.
        """
        if self.is_pinned(buffer) or self.pin(buffer, device) or self._allocate is None or device.type != "cuda":
            return buffer
        with self._pinning:
            num_bytes = 1 << (buffer.num_bytes - 1).bit_length()  # torch's allocator rounds up
            if num_bytes > self.room_bytes:
                return buffer
            try:
                copy = PinnedCopy(buffer, self._allocate)
            except RuntimeError as error:
                self._warn(f"could not allocate {num_bytes / 1e6:.0f} MB: {error}")
                return buffer
            # torch's allocator waits for copies under way before it gives the memory to somebody else.
            finalizer = finalize(copy, self._pins.pop, copy.pointer, None)
            finalizer.atexit = False
            self._pins[copy.pointer] = _Pin(num_bytes, finalizer)
            return copy

    def unpin(self, buffer: HostBuffer) -> None:
        """End the pin in place of `buffer`, if there is one, and keep the memory."""
        pin = self._pins.get(buffer.pointer)
        if pin is not None:
            pin.finalizer()

    def _register(self, buffer: HostBuffer, device: torch.device, backend: PinBackend) -> bool:
        try:
            done = backend.register(buffer.tensor, device)
        except RuntimeError as error:  # a driver that reports by exception
            self._warn(f"could not pin {buffer.num_bytes / 1e6:.0f} MB: {error}")
            return False
        if not done:
            self._warn(f"the driver would not pin {buffer.num_bytes / 1e6:.0f} MB")
            return False
        finalizer = finalize(buffer._memory, self._end, buffer.pointer, buffer.num_bytes, device)
        finalizer.atexit = False  # the system takes everything back, and the device may not answer any more
        self._pins[buffer.pointer] = _Pin(_whole_pages(buffer.num_bytes), finalizer)
        return True

    def _end(self, pointer: int, num_bytes: int, device: torch.device) -> None:
        assert self._backend is not None
        try:
            self._backend.synchronize(device)
        except RuntimeError as error:  # the device is lost; its error belongs to whoever uses it next
            log.debug("%s did not answer before pinned memory was given back: %s", device, error)
        try:
            done, reason = self._backend.unregister(pointer, num_bytes, device), "refused by the driver"
        except RuntimeError as error:
            done, reason = False, str(error)
        self._pins.pop(pointer, None)
        if not done:
            self._warn(f"{num_bytes / 1e6:.0f} MB of pinned memory could not be unregistered: {reason}")

    def _warn(self, what: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            log.warning("Pinned memory: %s. Copies from pageable memory are slower; results are the same.", what)


def _whole_pages(num_bytes: int) -> int:
    return -(-num_bytes // mmap.PAGESIZE) * mmap.PAGESIZE


def discard_pending_error(device: torch.device) -> None:
    """After a refused registration: take the error that the next kernel would report as its own.

    Args:
        device: One that is in use anyway: a kernel elsewhere would take memory of a card that others may need.
    """
    try:
        torch.zeros(1, device=device).add_(1)
        torch.cuda.synchronize(device)
    except RuntimeError as error:
        log.debug("Discarded after a refused registration: %s", error)
