"""The slots that streamed units pass through on the device, and the queue that fills them."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from ..device import DeviceService
from .pack import Pack


@dataclass(slots=True, eq=False)
class Slot:
    """One unit's place on the device.

    Attributes:
        buffer: [slot_bytes] uint8.
        pack: Whose bytes are in it, or on their way into it.
        is_used: Whether a forward works with it now.
        ready: Recorded on the copy stream after the bytes are in; the queue's.
        free: Recorded on the compute stream after their last use; the queue's.
    """

    buffer: torch.Tensor
    pack: Pack | None = None
    is_used: bool = False
    ready: Any = None
    free: Any = None


class CopyQueue(Protocol):
    """How bytes get into a slot, and the clock of the device that computes with them.

    Attributes:
        overlaps: Whether copies run beside the computation.
        copies: Where each copy is noted with the marks of its begin and end and its bytes; None where nobody measures.
    """

    overlaps: bool
    copies: list[tuple[Any, Any, int]] | None

    def issue(self, slot: Slot, source: torch.Tensor) -> None:
        """Start copying `source` to the start of the slot, after everything that still reads it."""
        ...

    def wait(self, slot: Slot) -> None:
        """Make what is computed from now on see the slot's bytes."""
        ...

    def release(self, slot: Slot) -> None:
        """What has been computed so far was the last to read the slot's bytes."""
        ...

    def mark(self) -> Any:
        """The point in time at which everything computed so far is done."""
        ...

    def seconds(self, since: Any, until: Any) -> float | None:
        """Seconds between two marks, or None while the device has not come to the second; never waits for it."""
        ...


class SyncQueue:
    """Copies on the spot: CPU, simulated devices, MPS and XPU (S130)."""

    overlaps = False
    copies: list[tuple[Any, Any, int]] | None = None

    def issue(self, slot: Slot, source: torch.Tensor) -> None:
        """Copy."""
        if self.copies is None:
            slot.buffer[: source.shape[0]].copy_(source)
            return
        began = self.mark()
        slot.buffer[: source.shape[0]].copy_(source)
        self.copies.append((began, self.mark(), source.nbytes))

    def wait(self, slot: Slot) -> None:
        """The bytes are there."""

    def release(self, slot: Slot) -> None:
        """Nothing reads them any more."""

    def mark(self) -> float:
        """Now."""
        return time.perf_counter()

    def seconds(self, since: float, until: float) -> float:
        """The difference."""
        return until - since


class StreamQueue:
    """Copies on a side stream while the device computes: CUDA and ROCm (S124, S125).

    Source: the event order of vLLM's prefetch offloader; no `record_stream`, since slots are never given back to the
    allocator while the ring lives.
    """

    overlaps = True
    copies: list[tuple[Any, Any, int]] | None = None

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)

    def issue(self, slot: Slot, source: torch.Tensor) -> None:
        """Queue the copy behind the slot's last use."""
        if slot.ready is None:
            slot.ready, slot.free = torch.cuda.Event(), torch.cuda.Event()
            slot.free.record(torch.cuda.current_stream(self._device))
        self._stream.wait_event(slot.free)
        with torch.cuda.stream(self._stream):
            began = None if self.copies is None else self.mark()
            slot.buffer[: source.shape[0]].copy_(source, non_blocking=True)
            slot.ready.record(self._stream)
            if self.copies is not None:
                self.copies.append((began, self.mark(), source.nbytes))

    def wait(self, slot: Slot) -> None:
        """The compute stream waits; the host does not."""
        torch.cuda.current_stream(self._device).wait_event(slot.ready)

    def release(self, slot: Slot) -> None:
        """Mark the last use on the compute stream."""
        slot.free.record(torch.cuda.current_stream(self._device))

    def mark(self) -> torch.cuda.Event:
        """An event on the current stream."""
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self._device))
        return event

    def seconds(self, since: torch.cuda.Event, until: torch.cuda.Event) -> float | None:
        """By the device's clock."""
        return since.elapsed_time(until) / 1e3 if until.query() else None


def queue_for(devices: DeviceService, device: torch.device) -> CopyQueue:
    """The queue that suits `device`."""
    return StreamQueue(device) if devices.copies_overlap(device) else SyncQueue()


class Ring:
    """A fixed number of equal slots on one device, allocated once.

    Args:
        num_slots: At least 1.
        slot_bytes: At least the largest unit that passes through.
        device: Where.
        devices: Allocates; running out of memory raises here and leaves nothing behind.
    """

    def __init__(self, num_slots: int, slot_bytes: int, device: torch.device, devices: DeviceService) -> None:
        self.slot_bytes = slot_bytes
        self.slots: list[Slot] = []
        self._device = device
        self._devices = devices
        try:
            for _ in range(num_slots):
                self.slots.append(Slot(devices.allocate(slot_bytes, device)))
        except BaseException:
            self.close()
            raise

    @property
    def num_bytes(self) -> int:
        """Bytes on the device."""
        return len(self.slots) * self.slot_bytes

    def holding(self, pack: Pack) -> Slot | None:
        """The slot with this unit's bytes, if one has them."""
        for slot in self.slots:
            if slot.pack is pack:
                return slot
        return None

    def free_slot(self, coming: Collection[Pack] = ()) -> Slot | None:
        """The unused slot that was filled longest ago and holds none of the units that are `coming`."""
        for slot in self.slots:
            if not slot.is_used and slot.pack not in coming:
                return slot
        return None

    def filled(self, slot: Slot) -> None:
        """Note that a slot was just filled: it is the last to be taken again."""
        self.slots.remove(slot)
        self.slots.append(slot)

    def close(self) -> None:
        """Give the memory back."""
        self._devices.forget(self.num_bytes, self._device)
        self.slots.clear()
