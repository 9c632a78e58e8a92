"""Hooks that bring a unit when it is called and take it away after, beside whatever hooks others have (S120-S122).

They stand on the unit's own module and on every module that holds one of its weights, so that any way into a layer
works.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Protocol, cast

from torch import nn
from torch.utils.hooks import RemovableHandle

from .pack import Pack

_Registry = OrderedDict[int, Any]


class Entries(Protocol):
    """Who brings units and takes them away."""

    def enter(self, pack: Pack, module: nn.Module) -> None:
        """A forward of `module`, which needs the unit, begins."""
        ...

    def leave(self, pack: Pack, module: nn.Module, is_done: bool) -> None:
        """It ends, done or by an error."""
        ...


class UnitHooks:
    """The hooks of one unit.

    While the unit itself runs, the modules below it have nothing to do, and torch calls a module without hooks the
    short way: `hide` takes our hooks out of their registries. Others register and remove theirs at any time all the
    same; where somebody else's stand, ours stay beside them.

    Args:
        pack: The unit.
        entries: Told of every forward.
    """

    def __init__(self, pack: Pack, entries: Entries) -> None:
        self.outer, *owners = pack.modules
        self._handles: list[RemovableHandle] = []
        self._inner: list[tuple[_Registry, int, Any]] = []
        self._watch(self.outer, pack, entries)
        for module in owners:
            before, after = self._watch(module, pack, entries)
            for registry, handle in ((module._forward_pre_hooks, before), (module._forward_hooks, after)):
                self._inner.append((cast(_Registry, registry), handle.id, registry[handle.id]))

    def __len__(self) -> int:
        return len(self._handles)

    def hide(self) -> None:
        """The unit's own forward begins."""
        for registry, key, _ in self._inner:
            if len(registry) == 1 and key in registry:
                registry.clear()  # cheaper than taking out the one

    def show(self) -> None:
        """It ends, or waits for another unit."""
        for registry, key, hook in self._inner:
            if not registry:
                registry[key] = hook
            elif key not in registry:
                registry[key] = hook
                registry.move_to_end(key, last=False)  # before those that came meanwhile

    def remove(self) -> None:
        """Take ours off; those of others stay."""
        self.show()
        for handle in self._handles:
            handle.remove()

    def _watch(self, module: nn.Module, pack: Pack, entries: Entries) -> tuple[RemovableHandle, RemovableHandle]:
        def before(*_: Any) -> None:
            entries.enter(pack, module)

        def after(_module: nn.Module, _args: Any, output: Any) -> None:
            entries.leave(pack, module, output is not None)  # torch passes None when the forward failed

        handles = module.register_forward_pre_hook(before), module.register_forward_hook(after, always_call=True)
        self._handles += handles
        return handles
