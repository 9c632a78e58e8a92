"""One phase of a request: handles ready and held, its time taken, what it took of the device learned and reported."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

import torch

from .memory.calibrate import phase_bytes
from .memory.handle import ModelHandle

if TYPE_CHECKING:
    from .context import RequestContext


class Phase:
    """The context manager behind `RequestContext.use`; used once.

    A class without generators, stacks or timers of others: it stands around everything that computes, and around
    things that compute next to nothing.
    """

    __slots__ = ("_allocated", "_ctx", "_handles", "_key", "_leave", "_name", "_start", "_streamed", "_working_bytes")

    def __init__(self, ctx: RequestContext, name: str, handles: Sequence[ModelHandle], working_bytes: int) -> None:
        self._ctx = ctx
        self._name = name
        self._handles = handles
        self._working_bytes = working_bytes
        self._key = f"{handles[0].name}/{name}" if handles else name

    def __enter__(self) -> None:
        ctx, handles = self._ctx, self._handles
        ctx.check_cancel()
        start = time.perf_counter()
        try:
            reserved = round(self._working_bytes * ctx.calibration.factor(self._key))
            self._leave = ctx.memory.enter(handles, reserved, ctx.check_cancel)
        finally:
            ctx.report.add_time("place", time.perf_counter() - start)
        try:
            # A phase inside this one reports what it streams: the difference then no longer counts.
            streamed_bytes = ctx.report.streamed_bytes
            self._streamed = [handle.streamed_bytes - streamed_bytes(handle.name) for handle in handles]
            self._watch()
        except BaseException:
            self._leave()
            raise
        self._start = time.perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._ctx.report.add_time(self._name, time.perf_counter() - self._start)
            if kind is None:
                self._learn()
            for handle, before in zip(self._handles, self._streamed, strict=True):
                self._note_memory(handle, before)
        finally:
            self._leave()

    def _watch(self) -> None:
        """Remember what is allocated now, and count peaks anew."""
        self._allocated: dict[torch.device, int] = {}
        if self._working_bytes <= 0:  # without an estimate there is nothing to correct
            return
        devices = self._ctx.devices
        for handle in self._handles:
            device = handle.load_device
            if handle.is_managed and device not in self._allocated:
                devices.reset_peak(device)
                self._allocated[device] = devices.allocated_bytes(device)

    def _learn(self) -> None:
        """Learn what the phase really took, where the device counts it (S165)."""
        devices = self._ctx.devices
        for device, before in self._allocated.items():
            peak = devices.peak_bytes(device)
            if peak - before > self._working_bytes:
                took = phase_bytes(peak, before, 0, devices.allocated_bytes(device) - before)
                self._ctx.calibration.observe(self._key, self._working_bytes, took)

    def _note_memory(self, handle: ModelHandle, before: int) -> None:
        report = self._ctx.report
        streamed = handle.streamed_bytes - before - report.streamed_bytes(handle.name)
        size = handle.size_bytes
        report.note_memory(handle.name, size, size if handle.is_whole else handle.loaded_bytes, streamed)
        if handle.partial is not None:
            report.memory[handle.name]["partial"] = handle.partial.as_data()
            why = handle.partial.reason
            report.warn(
                "partly_loaded", f"{handle.name} did not fit and streamed from RAM ({why}); slower, same result."
            )
