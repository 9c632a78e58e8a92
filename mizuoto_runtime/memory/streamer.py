"""Streaming: a unit that is not resident comes through a ring when its forward comes, and leaves after it (S120-S127).

Hooks stand on the streamed units and on the modules that hold their weights, so any way into a layer works; nothing
else of the model knows. While a unit itself runs, those below it are out of sight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from torch import nn
from torch.utils.hooks import RemovableHandle

from .pack import Pack
from .ring import CopyQueue, Ring, Slot

# A module's attributes, and its registries of hooks before and after a forward.
_Registries = tuple[dict[str, Any], dict[int, Any], dict[int, Any]]
_NO_HOOKS: MappingProxyType[int, Any] = MappingProxyType({})


def never() -> None:
    """The check of a handle that no request uses."""


@dataclass(slots=True)
class Gate:
    """What is called before every copy; the handle and its streamer share it, so that neither holds the other."""

    check: Callable[[], None] = never


class Streamer:
    """Streams the units of one handle.

    Args:
        packs: The units that are not resident, in run order as far as known.
        ring: Its slots; closed with the streamer.
        queue: Fills slots.
        gate: Its `check` is called before every copy and raises to cancel (S137).
        is_early: Start the next unit's copy as soon as a slot is free, where copies overlap.
        is_permanent: Every unit has its own slot by position and its parameters stay there: for captured graphs,
            which cannot follow parameters that move.
    """

    def __init__(
        self,
        packs: Iterable[Pack],
        ring: Ring,
        queue: CopyQueue,
        gate: Gate,
        is_early: bool = True,
        is_permanent: bool = False,
    ) -> None:
        self.packs = tuple(packs)
        self.ring = ring
        self.num_copies = 0
        self.streamed_bytes = 0
        self._queue = queue
        self._gate = gate
        self._is_early = is_early and queue.overlaps and not is_permanent
        # Learned, and a hint only (S126): what ran after a unit, and how often the unit had run in a row by then.
        self._next: dict[Pack, tuple[Pack, int]] = {}
        self._last: Pack | None = None
        self._runs = 0  # of `_last`, in a row
        self._bound: dict[Pack, Slot] = {}
        if is_permanent:
            for index, pack in enumerate(self.packs):
                self._bound[pack] = ring.slots[index % len(ring.slots)]
                pack.point_at(self._bound[pack].buffer)
        self._inner: dict[Pack, list[_Registries]] = {}
        self._hooks = [hook for pack in self.packs for hook in self._hooks_of(pack)]

    def close(self) -> None:
        """Take the hooks off, point the parameters home and give the slots back. The device must be idle."""
        for hook in self._hooks:
            hook.remove()
        for pack in self.packs:
            pack.depth = 0
            self._show_inner(pack)
            pack.park()
            for slot in self.ring.slots:
                pack.forget(slot.buffer)
        self._bound.clear()
        self.ring.close()

    @property
    def num_hooks(self) -> int:
        """How many hooks stand on modules."""
        return len(self._hooks)

    def enter(self, pack: Pack) -> None:
        """A forward that needs the unit begins."""
        pack.depth += 1
        if pack.depth > 1:
            return
        try:
            slot = self._slot_with(pack)
        except BaseException:
            pack.depth -= 1
            raise
        slot.is_used = True
        self._queue.wait(slot)
        if not self._bound:
            pack.point_at(slot.buffer)
        self._learn(pack)
        self._copy_ahead()

    def leave(self, pack: Pack, is_done: bool = True) -> None:
        """It ends, done or by an error; after an error nothing is copied ahead."""
        if not pack.depth:
            return  # its beginning failed
        pack.depth -= 1
        if pack.depth:
            return
        self._show_inner(pack)
        slot = self.ring.holding(pack)
        if not self._bound:
            pack.park()
        if slot is not None:
            slot.is_used = False
            self._queue.release(slot)
        if is_done:
            self._copy_ahead()

    def rest(self) -> None:
        """Leave what a KeyboardInterrupt left entered: torch calls no hooks for it."""
        for slot in list(self.ring.slots):
            if slot.is_used and slot.pack is not None:
                slot.pack.depth = 1
                self.leave(slot.pack, is_done=False)

    def _learn(self, pack: Pack) -> None:
        if self._last is pack:
            self._runs += 1
            return
        if self._last is not None:
            self._next[self._last] = pack, self._runs
        self._last, self._runs = pack, 1

    def _slot_with(self, pack: Pack) -> Slot:
        slot = self.ring.holding(pack)
        if slot is not None:
            return slot
        slot = self._bound.get(pack) or self.ring.free_slot()
        if slot is None or slot.is_used:
            names = ", ".join(slot.pack.unit.name for slot in self.ring.slots if slot.pack)
            raise RuntimeError(
                f"{pack.unit.name} runs inside {names}, but the plan has {len(self.ring.slots)} slots: "
                "name the outer module in memory_units() instead"
            )
        self._fill(slot, pack)
        return slot

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
        if not self._is_early or self._last not in self._next:
            return
        following, runs = self._next[self._last]
        slot = self.ring.free_slot()
        if slot is None or self.ring.holding(following) is not None:
            return
        if slot.pack is self._last and self._runs < runs:
            return  # it runs again: the halves of guidance, or leaves that are called one by one (S123)
        self._fill(slot, following)

    def _hooks_of(self, pack: Pack) -> list[RemovableHandle]:
        outer, *owners = pack.modules
        hooks = [hook for module in owners for hook in self._hook(module, pack)]
        inner = self._inner[pack] = [
            (vars(module), module._forward_pre_hooks, module._forward_hooks) for module in owners
        ]

        def before(*_: Any) -> None:
            if pack.depth:
                pack.depth += 1
                return
            self.enter(pack)
            # In here the modules below have nothing to do, and torch calls one without hooks the short way. Taking the
            # hooks out of their registries would cost more than calling them; somebody else's hooks stay in force.
            for attributes, hooks_before, hooks_after in inner:
                if len(hooks_before) == 1 and len(hooks_after) == 1:
                    attributes["_forward_pre_hooks"] = attributes["_forward_hooks"] = _NO_HOOKS

        return [outer.register_forward_pre_hook(before), self._after(outer, pack), *hooks]

    def _hook(self, module: nn.Module, pack: Pack) -> list[RemovableHandle]:
        def before(*_: Any) -> None:
            self.enter(pack)

        return [module.register_forward_pre_hook(before), self._after(module, pack)]

    def _after(self, module: nn.Module, pack: Pack) -> RemovableHandle:
        def after(_module: nn.Module, _args: Any, output: Any) -> None:
            self.leave(pack, is_done=output is not None)  # torch passes None when the forward failed

        return module.register_forward_hook(after, always_call=True)

    def _show_inner(self, pack: Pack) -> None:
        for attributes, hooks_before, hooks_after in self._inner[pack]:
            attributes["_forward_pre_hooks"], attributes["_forward_hooks"] = hooks_before, hooks_after
