"""One phase of a request: handles ready and held, its time taken, what it took of the device learned and told."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

import torch

from .errors import is_oom
from .journal import DONE, OOM, STOPPED
from .memory.calibrate import phase_bytes
from .memory.handle import ModelHandle

if TYPE_CHECKING:
    from .context import RequestContext


class Phase:
    """The context manager behind `RequestContext.use`; used once.

    A class without generators, stacks or timers of others: it stands around everything that computes, and around
    things that compute next to nothing.
    """

    __slots__ = (
        "_allocated", "_ctx", "_entry", "_handles", "_key", "_leave", "_name", "_start", "_streamed", "_working_bytes",
    )  # fmt: skip

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
        journal = ctx.journal
        if journal.is_empty:
            self._note_first(start)
        self._entry = journal.begin(self._name, handles, start)
        try:
            reserved = round(self._working_bytes * ctx.calibration.factor(self._key))
            self._leave = ctx.memory.enter(handles, reserved, ctx.check_cancel)
        except BaseException as error:
            journal.end(self._entry, time.perf_counter(), 0, _outcome(error))
            raise
        finally:
            now = time.perf_counter()
            ctx.report.add_time("place", now - start)
        try:
            # A phase inside this one reports what it streams: the difference then no longer counts.
            streamed_bytes = ctx.report.streamed_bytes
            self._streamed = [handle.streamed_bytes - streamed_bytes(handle.name) for handle in handles]
            self._watch()
            journal.ready(self._entry, now)
        except BaseException as error:
            journal.end(self._entry, now, 0, _outcome(error))
            self._leave()
            raise
        self._start = time.perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        ctx, now, streamed_bytes = self._ctx, time.perf_counter(), 0
        try:
            ctx.report.add_time(self._name, now - self._start)
            if self._allocated:
                self._learn(now, error is None)
            for handle, before in zip(self._handles, self._streamed, strict=True):
                streamed_bytes += self._note_memory(handle, before)
        finally:
            outcome = DONE if error is None else _outcome(error)
            ctx.journal.end(self._entry, now, streamed_bytes, outcome)
            self._leave()

    def _note_first(self, now: float) -> None:
        """Write down what is on the devices before the first weights of a run are brought there."""
        for handle in self._handles:
            if handle.is_managed:
                device = handle.load_device
                num_bytes = self._ctx.devices.allocated_bytes(device)
                self._ctx.journal.used(device, now, num_bytes, now, num_bytes)

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

    def _learn(self, now: float, is_done: bool) -> None:
        """Learn what the phase really took, where the device counts it (S165)."""
        devices, journal = self._ctx.devices, self._ctx.journal
        for device, before in self._allocated.items():
            peak = devices.peak_bytes(device)
            journal.used(device, self._start, before, now, peak)
            if is_done and peak - before > self._working_bytes:
                took = phase_bytes(peak, before, 0, devices.allocated_bytes(device) - before)
                self._ctx.calibration.observe(self._key, self._working_bytes, took)

    def _note_memory(self, handle: ModelHandle, before: int) -> int:
        """Report where the weights were; returns the bytes that streamed."""
        report, name = self._ctx.report, handle.name
        all_streamed = handle.streamed_bytes - before
        if not all_streamed and handle.is_whole and report.is_whole(name):
            return 0  # as it was reported before
        size, streamed = handle.size_bytes, all_streamed - report.streamed_bytes(name)
        report.note_memory(name, size, size if handle.is_whole else handle.loaded_bytes, all_streamed)
        if handle.partial is not None:
            report.memory[name]["partial"] = handle.partial.as_data()
            why = handle.partial.reason
            report.warn("partly_loaded", f"{name} did not fit and streamed from RAM ({why}); slower, same result.")
        return streamed


def _outcome(error: BaseException) -> str:
    return OOM if is_oom(error) else STOPPED
