"""How long streamed passes take: measured on a few of them, smoothed, and never by waiting for the device (S127)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .plan import Seconds
from .ring import CopyQueue

# The first passes, and then one of many: what is measured changes slowly, and marks cost a little.
NUM_FIRST = 4
ONE_OF = 16
WEIGHT_OF_NEW = 0.5
# A unit that ran once, such as an encoder's before the steps of a decoder, is no begin of a pass.
MOST_RUNS = 512


@dataclass(slots=True)
class _Sample:
    """Marks of one pass: its begin and end, and for every run of a unit when that was wanted, there and done with."""

    queue: CopyQueue
    began: Any
    runs: list[tuple[Any, Any, Any]] = field(default_factory=list)
    unit_bytes: dict[object, int] = field(default_factory=dict)
    run_bytes: int = 0
    running: tuple[object, int, Any, Any] | None = None
    copies: list[tuple[Any, Any, int]] = field(default_factory=list)
    ended: Any = None


class Meter:
    """Measures the passes of one handle, whichever units of it stream.

    A pass lasts from the first streamed unit until that one runs again in the same phase; other work between counts as
    the gap. What resident units take follows from the streamed ones by bytes.

    Args:
        all_bytes: Bytes of all units of the handle.
    """

    def __init__(self, all_bytes: int) -> None:
        self._all_bytes = all_bytes
        self._num_passes = self._num_runs = 0
        self._compute_rate: float | None = None  # seconds a byte
        self._copy_rate: float | None = None
        self._gap_s: float | None = None
        self._first: object = None
        self._last: object = None
        self._sample: _Sample | None = None
        self._pending: _Sample | None = None

    def seconds(self) -> Seconds | None:
        """What was measured so far; None until a pass was."""
        self._settle()
        if self._compute_rate is None or self._copy_rate is None:
            return None
        return Seconds(self._all_bytes * self._compute_rate, self._all_bytes * self._copy_rate, self._gap_s or 0.0)

    def wants(self, unit: object, queue: CopyQueue) -> Any:
        """A forward is about to need `unit`. Returns a mark to give to `has`, or None if this pass is not measured."""
        is_again = unit is self._first and self._last is not unit
        if is_again or self._first is None or self._num_runs == MOST_RUNS:
            self._end(queue.mark() if is_again and self._sample else None)
            self._first = unit
            self._begin(queue)
        self._num_runs += 1
        self._last = unit
        return None if self._sample is None else queue.mark()

    def has(self, unit: object, num_bytes: int, wanted: Any) -> None:
        """Its bytes are there."""
        if self._sample is not None:
            self._sample.running = unit, num_bytes, wanted, self._sample.queue.mark()

    def leaves(self) -> None:
        """The forward is over."""
        sample = self._sample
        if sample is not None and sample.running is not None:
            unit, num_bytes, wanted, there = sample.running
            sample.running = None
            sample.unit_bytes[unit] = num_bytes
            sample.run_bytes += num_bytes
            sample.runs.append((wanted, there, sample.queue.mark()))

    def stop(self) -> None:
        """The phase is over: what comes until the next one is no part of a pass."""
        self._end(None)
        self._first = self._last = None

    def _begin(self, queue: CopyQueue) -> None:
        self._settle()
        is_measured = self._num_passes < NUM_FIRST or self._num_passes % ONE_OF == 0
        self._num_passes += 1
        self._num_runs = 0
        if is_measured and self._pending is None:
            self._sample = _Sample(queue, queue.mark())
            queue.copies = self._sample.copies

    def _end(self, ended: Any) -> None:
        if self._sample is not None:
            self._sample.queue.copies = None
            self._sample.ended = ended
            self._pending, self._sample = self._sample, None

    def _settle(self) -> None:
        """Take in a measured pass, unless the device is still at it."""
        sample = self._pending
        if sample is None:
            return
        waiting = _total(sample.queue, [(wanted, there) for wanted, there, _ in sample.runs])
        computing = _total(sample.queue, [(there, done) for _, there, done in sample.runs])
        copying = _total(sample.queue, [(began, ended) for began, ended, _ in sample.copies])
        whole = None if sample.ended is None else _total(sample.queue, [(sample.began, sample.ended)])
        if waiting is None or computing is None or copying is None or (whole is None and sample.ended is not None):
            return
        self._pending = None
        copied = sum(copy[2] for copy in sample.copies)
        if not sample.run_bytes:
            return  # interrupted before its first unit was done
        if whole is not None:
            num_bytes = sum(sample.unit_bytes.values())
            rate = computing / num_bytes  # with every run of a unit that runs several times in a pass
            others = rate * (self._all_bytes - num_bytes)
            self._compute_rate = rate if self._gap_s is None else _smoothed(self._compute_rate, rate)
            self._gap_s = _smoothed(self._gap_s, max(0.0, whole - waiting - computing - others))
        elif self._gap_s is None:  # no whole pass is known, so a unit may as well run once in each
            self._compute_rate = _smoothed(self._compute_rate, computing / sample.run_bytes)
        if copied:
            self._copy_rate = _smoothed(self._copy_rate, copying / copied)


def _smoothed(before: float | None, new: float) -> float:
    return new if before is None else before + WEIGHT_OF_NEW * (new - before)


def _total(queue: CopyQueue, spans: Sequence[tuple[Any, Any]]) -> float | None:
    """Seconds of all spans together, or None if one is not over yet."""
    total = 0.0
    for since, until in spans:
        seconds = queue.seconds(since, until)
        if seconds is None:
            return None
        total += seconds
    return total
