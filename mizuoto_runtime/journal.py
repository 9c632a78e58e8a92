"""What the phases of one run did and when, for pictures of it: little to keep, cheap to write (S169)."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

MAX_ENTRIES, MAX_USES = 256, 256
DONE, OOM, STOPPED = "", "oom", "stopped"  # how a phase ended: by itself, out of device memory, by any other error


class Component(Protocol):
    """What is known here of a `ModelHandle`."""

    name: str


def nothing() -> None:
    """For nobody to be told."""


class Entry:
    """One phase, or several alike in a long run; seconds on the clock of `time.perf_counter`.

    Attributes:
        name: Of the phase.
        handles: Their names.
        began: When placing began.
        ready: When everything was in place; None until then.
        ended: None while it is under way.
        streamed_bytes: Copied through rings meanwhile.
        outcome: "", "oom" or "stopped".
        count: How many phases it stands for.
        place_s: What placing took, of all of them.
        busy_s: From ready to ended, of all of them.
    """

    # Defaults stand here because writing ten attributes would be half the cost of an entry.
    ready: float | None = None
    ended: float | None = None
    streamed_bytes = 0
    outcome = DONE
    count = 1
    place_s = 0.0
    busy_s = 0.0

    def __init__(self, name: str, handles: tuple[str, ...], began: float) -> None:
        self.name = name
        self.handles = handles
        self.began = began

    def absorb(self, later: Entry) -> None:
        """Stand for a later one, too."""
        self.ended = later.ended
        self.streamed_bytes += later.streamed_bytes
        self.count += later.count
        self.place_s += later.place_s
        self.busy_s += later.busy_s


class Journal:
    """Of one run: a request, or all requests of one of ComfyUI's prompts.

    Written by the thread whose phases they are; may be read by any. When it is full, neighbours of the same kind become
    one, so that it always tells of the whole run.

    Args:
        run: What the requests of a run have in common; "" where each is a run of its own.
        on_change: Called when a phase is ready and when a request ends.
        clock: Seconds that only grow.
    """

    def __init__(
        self, run: str = "", on_change: Callable[[], object] = nothing, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.run = run
        self.streamed_bytes = self.num_oom = 0
        self.on_change = on_change
        self._clock = clock
        self._began = self._last = clock()
        self._num_requests = 0
        self._entries: list[Entry] = []
        self._uses: dict[Hashable, list[tuple[float, int, float, int]]] = {}

    @property
    def is_empty(self) -> bool:
        """Whether no phase has begun yet."""
        return not self._entries

    @contextmanager
    def request(self) -> Iterator[None]:
        """The run goes on as long as the block does."""
        self._num_requests += 1
        try:
            yield
        finally:
            self._num_requests -= 1
            self._last = self._clock()
            self.on_change()

    def begin(self, name: str, handles: Sequence[Component], began: float) -> Entry:
        """A phase begins with placing."""
        names = (handles[0].name,) if len(handles) == 1 else tuple(handle.name for handle in handles)
        entry = Entry(name, names, began)
        if len(self._entries) >= MAX_ENTRIES:
            self._entries = _joined(self._entries)
        self._entries.append(entry)
        return entry

    def ready(self, entry: Entry, now: float) -> None:
        """Its handles are in place, and it computes."""
        entry.ready = now
        self.on_change()

    def end(self, entry: Entry, now: float, streamed_bytes: int, outcome: str) -> None:
        """It is over."""
        if entry.ready is None:
            entry.place_s = now - entry.began
        else:
            entry.place_s, entry.busy_s = entry.ready - entry.began, now - entry.ready
        entry.streamed_bytes, entry.outcome = streamed_bytes, outcome
        entry.ended = self._last = now
        if streamed_bytes:
            self.streamed_bytes += streamed_bytes
        if outcome == OOM:
            self.num_oom += 1

    def used(self, device: Hashable, since: float, before: int, until: float, peak: int) -> None:
        """So many bytes were allocated on a device when a phase was ready, and at most so many until its end."""
        uses = self._uses.get(device)
        if uses is None:
            uses = self._uses[device] = []
        elif len(uses) >= MAX_USES:
            uses = self._uses[device] = [
                (first[0], first[1], second[2], max(first[3], second[3]))
                for first, second in zip(uses[::2], uses[1::2], strict=False)
            ]
        uses.append((since, before, until, peak))

    def as_data(self) -> dict[str, Any]:
        """JSON-ready; times are seconds since its beginning, and `ago_s` is how long ago that was."""
        now, entries = self._clock(), list(self._entries)
        is_running = self._num_requests > 0 or any(entry.ended is None for entry in entries)
        return {
            "run": self.run,
            "running": is_running,
            "ago_s": round(now - self._began, 3),
            "seconds": self._since(now if is_running else self._last),
            "streamed_bytes": self.streamed_bytes,
            "oom": self.num_oom,
            "phases": [self._phase(entry, now) for entry in entries],
            "devices": [self._device(device, list(uses)) for device, uses in list(self._uses.items())],
        }

    def _phase(self, entry: Entry, now: float) -> dict[str, Any]:
        place_s, busy_s = entry.place_s, entry.busy_s
        if entry.ended is None:
            ready = entry.ready or now
            place_s, busy_s = ready - entry.began, now - ready
        return {
            "name": entry.name,
            "components": list(entry.handles),
            "start_s": self._since(entry.began),
            "end_s": None if entry.ended is None else self._since(entry.ended),
            "place_s": round(place_s, 4),
            "busy_s": round(busy_s, 4),
            "streamed_bytes": entry.streamed_bytes,
            "outcome": entry.outcome,
            "count": entry.count,
        }

    def _device(self, device: Hashable, uses: list[tuple[float, int, float, int]]) -> dict[str, Any]:
        points = [
            [self._since(at), num_bytes]
            for since, before, until, peak in uses
            for at, num_bytes in ((since, before), (until, peak))
        ]
        return {"name": str(device), "samples": points}

    def _since(self, at: float) -> float:
        return round(max(0.0, at - self._began), 4)


def _joined(entries: list[Entry]) -> list[Entry]:
    """Every second one of a kind made part of the one before; the later half where that is not enough."""
    kept: list[Entry] = []
    single: dict[tuple[object, ...], Entry] = {}
    for entry in entries:
        kind = (entry.name, entry.handles, entry.outcome)
        earlier = single.pop(kind, None) if entry.ended is not None else None
        if earlier is not None:
            earlier.absorb(entry)
            continue
        kept.append(entry)
        if entry.ended is not None:
            single[kind] = entry
    return kept if len(kept) < MAX_ENTRIES else kept[MAX_ENTRIES // 2 :]
