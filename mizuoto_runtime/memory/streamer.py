"""Streaming: a unit that is not resident comes through a ring when its forward comes, and leaves after it (S120-S127).

Hooks stand on streamed units only; nothing else of the model knows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from torch import nn

from .hooks import UnitHooks
from .meter import Meter
from .pack import Pack
from .ring import CopyQueue, Ring, Slot


def never() -> None:
    """The check of a handle that no request uses."""


class Gate:
    """Who uses a handle, and what is called before each of its copies: every user's check.

    The handle and its streamer share it, so that neither holds the other. Users come and go in any order, from any
    thread.
    """

    def __init__(self) -> None:
        self.check: Callable[[], None] = never
        self._checks: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    @property
    def num_users(self) -> int:
        """How many have entered and not left."""
        return len(self._checks)

    def enter(self, check: Callable[[], None]) -> None:
        """From now on `check` is called before every copy."""
        with self._lock:
            self._checks.append(check)
            self.check = check if len(self._checks) == 1 else self._combined()

    def leave(self, check: Callable[[], None]) -> int:
        """No more; returns how many users are left."""
        with self._lock:
            self._checks.remove(check)
            if self._checks:
                self.check = self._combined()
                return len(self._checks)
            self.check = never
            return 0

    def _combined(self) -> Callable[[], None]:
        checks = tuple(check for check in self._checks if check is not never)

        def check_all() -> None:
            for check in checks:
                check()

        return check_all


@dataclass(slots=True, eq=False)
class _Use:
    """A forward that works with a unit: its slot, and whose slot that is if no other was free."""

    pack: Pack
    module: nn.Module
    slot: Slot
    lender: Pack | None
    is_timed: bool
    depth: int = 1


@dataclass(frozen=True, slots=True)
class _Following:
    """What ran after a unit the last time, how often the unit had run in a row by then, and whether it always did."""

    pack: Pack
    runs: int
    is_sure: bool


class Streamer:
    """Streams the units of one handle.

    Args:
        packs: The units that are not resident, in run order as far as known.
        ring: Its slots; closed with the streamer.
        queue: Fills slots.
        gate: Its `check` is called before every copy and raises to cancel (S137).
        is_early: Start the next units' copies as soon as slots are free, where copies overlap.
        is_permanent: Every unit has its own slot by position and its parameters stay there: for captured graphs,
            which cannot follow parameters that move.
        meter: Told when units are wanted, there and done with.
    """

    def __init__(
        self,
        packs: Iterable[Pack],
        ring: Ring,
        queue: CopyQueue,
        gate: Gate,
        is_early: bool = True,
        is_permanent: bool = False,
        meter: Meter | None = None,
    ) -> None:
        self.packs = tuple(packs)
        self.ring = ring
        self.is_early = is_early and queue.overlaps and not is_permanent
        self.num_copies = 0
        self.streamed_bytes = 0
        self._entered: list[_Use] = []  # the innermost last
        self._queue = queue
        self._gate = gate
        self._meter = meter
        self._next: dict[Pack, _Following] = {}  # learned, and a hint only (S126)
        self._last: Pack | None = None
        self._runs = 0  # of `_last`, in a row
        self._bound: dict[Pack, Slot] = {}
        if is_permanent:
            for index, pack in enumerate(self.packs):
                self._bound[pack] = ring.slots[index % len(ring.slots)]
                pack.point_at(self._bound[pack].buffer)
        self._hooks = {pack: UnitHooks(pack, self) for pack in self.packs}

    def close(self) -> None:
        """Take the hooks off, point the parameters home and give the slots back. The device must be idle."""
        self.rest()
        for hooks in self._hooks.values():
            hooks.remove()
        for pack in self.packs:
            pack.park()
            for slot in self.ring.slots:
                pack.forget(slot.buffer)
        self._bound.clear()
        self.ring.close()

    @property
    def num_hooks(self) -> int:
        """How many hooks stand on modules."""
        return sum(map(len, self._hooks.values()))

    def enter(self, pack: Pack, module: nn.Module) -> None:
        """A forward of `module`, which needs the unit, begins."""
        innermost = self._entered[-1] if self._entered else None
        if innermost is not None and innermost.pack is pack:
            innermost.depth += innermost.module is module
            return
        # Of units inside one another only the outermost is timed: its seconds contain theirs.
        wanted = self._meter.wants(pack, self._queue) if self._meter and innermost is None else None
        slot, lender = self._slot_for(pack)
        pack.depth += 1
        self._entered.append(_Use(pack, module, slot, lender, wanted is not None))
        self._give(pack, slot)
        self._learn(pack)
        self._copy_ahead()
        if wanted is not None and self._meter:
            self._meter.has(pack, pack.num_bytes, wanted)

    def leave(self, pack: Pack, module: nn.Module, is_done: bool = True) -> None:
        """It ends, done or by an error; after an error nothing is copied ahead."""
        innermost = self._entered[-1] if self._entered else None
        if innermost is None or innermost.module is not module or innermost.pack is not pack:
            return  # its beginning failed, or its unit runs
        innermost.depth -= 1
        if not innermost.depth:
            self._end(self._entered.pop())
            if is_done:
                self._copy_ahead()

    def rest(self) -> None:
        """Leave what a KeyboardInterrupt left entered: torch calls no hooks for it."""
        for use in self._entered:
            use.lender = None  # nobody works on with it
        while self._entered:
            self._end(self._entered.pop())
        if self._meter:
            self._meter.stop()

    def _end(self, use: _Use) -> None:
        pack, slot = use.pack, use.slot
        if use.is_timed and self._meter:
            self._meter.leaves()
        pack.depth -= 1
        if not pack.depth or use.lender is not None:
            slot.is_used = False
            self._take(pack)
        self._queue.release(slot)
        if use.lender is not None:
            self._fill(slot, use.lender)
            self._give(use.lender, slot)

    def _give(self, pack: Pack, slot: Slot) -> None:
        """Have the innermost forward work with what is in the slot, or on its way into it."""
        slot.is_used = True
        self._queue.wait(slot)
        if not self._bound:
            pack.swap_in(slot.buffer)
        hooks = self._hooks[pack]
        if self._entered[-1].module is hooks.outer:
            hooks.hide()

    def _take(self, pack: Pack) -> None:
        if not self._bound:
            pack.swap_out()
        self._hooks[pack].show()

    def _learn(self, pack: Pack) -> None:
        if self._last is pack:
            self._runs += 1
            return
        if self._last is not None:
            known = self._next.get(self._last)
            is_sure = known is None or (known.pack is pack and known.runs == self._runs)
            if known is None or not is_sure or not known.is_sure:
                self._next[self._last] = _Following(pack, self._runs, is_sure)
        self._last, self._runs = pack, 1

    def _slot_for(self, pack: Pack) -> tuple[Slot, Pack | None]:
        """The slot with the unit's bytes, and whose it is if that unit is in the middle of its own forward."""
        slot = self.ring.holding(pack)
        if slot is not None:
            return slot, None
        slot = self._bound.get(pack) or self.ring.free_slot()
        if slot is not None and not slot.is_used:
            self._fill(slot, pack)
            return slot, None
        slot = slot or self._entered[-1].slot
        lender = slot.pack
        self._queue.release(slot)
        if lender is not None:
            self._take(lender)  # until its bytes are back there is nothing to read
            slot.is_used = False
        self._fill(slot, pack)
        return slot, lender

    def _fill(self, slot: Slot, pack: Pack) -> None:
        self._gate.check()
        assert pack.host is not None
        slot.pack = None  # a copy that fails leaves no half-filled slot behind
        self._queue.issue(slot, pack.host)
        slot.pack = pack
        self.ring.filled(slot)
        self.num_copies += 1
        self.streamed_bytes += pack.num_bytes

    def _copy_ahead(self) -> None:
        """Fill the slots that nothing needs with what runs next, in its order."""
        if not self.is_early:
            return
        coming = self._coming()
        for pack in coming:
            if self.ring.holding(pack) is None:
                slot = self.ring.free_slot(coming)
                if slot is None:
                    return
                self._fill(slot, pack)

    def _coming(self) -> list[Pack]:
        """The units that run next, as many as there are slots; fewer where the order has not always been the same."""
        coming: list[Pack] = []
        if self._last is None:
            return coming
        following = self._next.get(self._last)
        if following is not None and self._runs < following.runs:
            coming.append(self._last)  # runs again: the halves of guidance, or leaves that are called one by one (S123)
        while following is not None and following.is_sure and len(coming) < len(self.ring.slots):
            if following.pack in coming:
                break
            coming.append(following.pack)
            following = self._next.get(following.pack)
        return coming
