"""Which weights of a module move together, and which must stay: the division into fixed part and units (S113-S117)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast
from weakref import WeakSet

import torch
from torch import nn

from ..errors import EngineError

MIN_UNIT_CHILD_BYTES = 1 << 20
MIN_UNIT_BYTES = 64 << 10
STREAMABLE = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.ConvTranspose1d, nn.ConvTranspose2d)
# nn.MultiheadAttention reads the weight of its output projection without calling it.
_READ_ELSEWHERE = (nn.modules.linear.NonDynamicallyQuantizableLinear,)
MARKS = ("hot", "fixed")

_on_cpu: WeakSet[nn.Module] = WeakSet()


def pin_to_cpu(module: nn.Module) -> nn.Module:
    """Keep `module` and everything below it on the CPU when its parent moves (S015); returns it."""
    _on_cpu.add(module)
    return module


@dataclass(frozen=True, slots=True, eq=False)
class Weight:
    """One tensor and every place that refers to it: tied weights have several owners."""

    name: str
    owners: tuple[tuple[nn.Module, str], ...]
    is_buffer: bool

    @property
    def tensor(self) -> torch.Tensor:
        """The tensor as it is now."""
        module, attribute = self.owners[0]
        return cast(torch.Tensor, getattr(module, attribute))

    def point_at(self, value: torch.Tensor) -> None:
        """Point every owner at `value`; parameters keep their identity."""
        if self.is_buffer:
            for module, attribute in self.owners:
                module._buffers[attribute] = value
        else:
            self.tensor.data = value


def nowhere(shape: torch.Size, dtype: torch.dtype) -> torch.Tensor:
    """What stands for a weight that is not on its device: one value in every place, without memory for each.

    NaN, so that whatever is computed with it shows; of integers the largest, which is no index. Not a meta tensor:
    there are CPU kernels that read its memory, which it has not, instead of refusing it.
    """
    if dtype.is_floating_point or dtype.is_complex:
        value: float | int = math.nan
    else:
        value = 1 if dtype == torch.bool else torch.iinfo(dtype).max
    with torch.inference_mode(False):
        return torch.full((), value, dtype=dtype, device="cpu").expand(shape)  # may run while others build on meta


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """Weights that move together."""

    name: str
    module: nn.Module
    weights: tuple[Weight, ...]
    num_bytes: int
    is_hot: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """A module's movable weights: every weight is in the fixed part or in exactly one unit."""

    fixed: tuple[Weight, ...]
    fixed_bytes: int
    units: tuple[Unit, ...]

    @property
    def size_bytes(self) -> int:
        """All bytes that are on the device when the module is placed whole."""
        return self.fixed_bytes + sum(unit.num_bytes for unit in self.units)


def layout_of(module: nn.Module, marks: Mapping[nn.Module, str] | None = None) -> Layout:
    """Divide `module`'s weights.

    A unit is a module named by its parent's `memory_units()`, or a child of at least 1 MB of an outermost
    `ModuleList` or `Sequential`. Only weights of linear and convolution layers, and of classes that declare
    `STREAMABLE = True`, are in units; embeddings, norms, biases, buffers, weights shared beyond the unit, the
    module's first parameter (code asks it for the device), units below 64 KB and modules marked "fixed" are not.

    Args:
        module: The root.
        marks: Module -> "hot" (place its unit before all others) or "fixed"; a mark covers the children.

    Raises:
        EngineError: Unknown mark, or `memory_units()` names no submodule.
    """
    marks = marks or {}
    for mark in marks.values():
        if mark not in MARKS:
            raise EngineError(f'Unknown mark "{mark}" on a module; use one of {", ".join(MARKS)}.')
    staying = {part for root in module.modules() if root in _on_cpu for part in root.modules()}
    weights = [weight for weight in _weights(module) if weight.owners[0][0] not in staying]
    named: dict[nn.Module, str] = {}
    for name, unit_module in _unit_modules(module):
        named.setdefault(unit_module, name)  # a list that two paths reach still makes each unit once
    candidates = [(name, unit_module) for unit_module, name in named.items()]
    membership: dict[nn.Module, set[int]] = {}
    for index, (_, unit_module) in enumerate(candidates):
        for part in unit_module.modules():
            membership.setdefault(part, set()).add(index)
    fixed_modules = _covered(marks, "fixed")
    first = next((id(parameter) for parameter in module.parameters()), None)

    inside: dict[int, list[Weight]] = {}
    for weight in weights:
        homes = {frozenset(membership.get(owner, ())) for owner, _ in weight.owners}
        home = next(iter(homes))
        if len(homes) == 1 and len(home) == 1 and id(weight.tensor) != first and _streams(weight, fixed_modules):
            inside.setdefault(next(iter(home)), []).append(weight)

    hot_modules = _covered(marks, "hot")
    units = tuple(
        Unit(
            *candidates[index],
            tuple(members),
            num_bytes,
            any(p in hot_modules for p in candidates[index][1].modules()),
        )
        for index, members in sorted(inside.items())
        if (num_bytes := sum(weight.tensor.nbytes for weight in members)) >= MIN_UNIT_BYTES
    )
    moving = {weight for unit in units for weight in unit.weights}
    fixed = tuple(weight for weight in weights if weight not in moving)
    return Layout(fixed, sum(weight.tensor.nbytes for weight in fixed), units)


def _weights(root: nn.Module) -> Iterator[Weight]:
    owners: dict[int, tuple[str, bool, list[tuple[nn.Module, str]]]] = {}
    for path, module in root.named_modules():
        prefix = f"{path}." if path else ""
        for is_buffer, tensors in ((False, module._parameters), (True, module._buffers)):
            for name, tensor in tensors.items():
                if tensor is not None:
                    owners.setdefault(id(tensor), (prefix + name, is_buffer, []))[2].append((module, name))
    for name, is_buffer, places in owners.values():
        yield Weight(name, tuple(places), is_buffer)


def _unit_modules(module: nn.Module, path: str = "") -> Iterator[tuple[str, nn.Module]]:
    names = getattr(module, "memory_units", None)
    if names is not None:
        for name in names():
            try:
                yield f"{path}{name}", module.get_submodule(name)
            except AttributeError:
                raise EngineError(
                    f'{type(module).__name__}.memory_units() names "{name}", which is no submodule.'
                ) from None
        return
    is_list = isinstance(module, nn.ModuleList | nn.Sequential)
    for name, child in module.named_children():
        if not is_list:
            yield from _unit_modules(child, f"{path}{name}.")
        elif _own_bytes(child) >= MIN_UNIT_CHILD_BYTES:
            yield f"{path}{name}", child


def _own_bytes(module: nn.Module) -> int:
    return sum(parameter.nbytes for parameter in module.parameters())


def _covered(marks: Mapping[nn.Module, str], mark: str) -> set[nn.Module]:
    return {part for root, given in marks.items() if given == mark for part in root.modules()}


def _streams(weight: Weight, fixed_modules: set[nn.Module]) -> bool:
    return not weight.is_buffer and all(
        attribute == "weight"
        and (isinstance(owner, STREAMABLE) or getattr(type(owner), "STREAMABLE", False))
        and not isinstance(owner, _READ_ELSEWHERE)
        and owner not in fixed_modules
        for owner, attribute in weight.owners
    )
