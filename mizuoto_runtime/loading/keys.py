"""Putting named tensors into a module, strictly: every key has a place and every place gets a key (S037)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Protocol, runtime_checkable

import torch
from torch import nn

from ..errors import EngineError, ModelFileError

_SHOWN = 3


@runtime_checkable
class FillsBuffers(Protocol):
    """A module with tensors that no checkpoint has: tables of angles, windows, masks."""

    def fill_buffers(self) -> None:
        """Compute these tensors on the CPU and assign them; called by `load_into` where they are still on meta."""


def strip_prefix(tensors: Iterable[tuple[str, torch.Tensor]], prefix: str) -> dict[str, torch.Tensor]:
    """The tensors whose names begin with `prefix`, under their names without it."""
    return {name[len(prefix) :]: tensor for name, tensor in tensors if name.startswith(prefix)}


def replace_prefixes(
    tensors: Iterable[tuple[str, torch.Tensor]], prefixes: Mapping[str, str]
) -> dict[str, torch.Tensor]:
    """All tensors, with the longest prefix of each name that `prefixes` knows replaced by what it maps to.

    Raises:
        ModelFileError: Two tensors end up under one name.
    """
    ordered = sorted(prefixes, key=len, reverse=True)
    renamed: dict[str, torch.Tensor] = {}
    for name, tensor in tensors:
        prefix = next((prefix for prefix in ordered if name.startswith(prefix)), "")
        place = prefixes.get(prefix, "") + name[len(prefix) :]
        if place in renamed:
            raise ModelFileError(
                f'The checkpoint has two tensors for "{place}", one of them "{name}"; use another file.'
            )
        renamed[place] = tensor
    return renamed


def load_into(
    module: nn.Module, tensors: Mapping[str, torch.Tensor], source: str, ignore: Collection[str] = ()
) -> None:
    """Make `tensors` the parameters and buffers of `module`, without copying.

    Names that share one tensor in the module (tied weights) share it afterwards too; one of them is enough, and
    several must be equal. Where buffers that are in no checkpoint are still on meta, their owner's `fill_buffers` is
    called (`FillsBuffers`).

    Args:
        module: May have been built on the meta device.
        tensors: Exactly the module's keys, with its shapes.
        source: The file or folder, for error messages.
        ignore: Patterns ("mel_spec.*") of names in `tensors` that are dropped where the module has no place for them.

    Raises:
        ModelFileError: Missing or extra keys, another shape or kind of number; the first few are named. The module is
            unchanged.
        EngineError: The module has tensors on meta that neither `tensors` nor `fill_buffers` gives values.
    """
    wanted = module.state_dict(keep_vars=True)
    groups = _groups(wanted)
    given = {
        name: tensor
        for name, tensor in tensors.items()
        if name in wanted or not any(fnmatchcase(name, pattern) for pattern in ignore)
    }
    problems = list(_problems(wanted, groups, given))
    if problems:
        more = f" (and {len(problems) - _SHOWN} more)" if len(problems) > _SHOWN else ""
        raise ModelFileError(
            f'"{source}" does not fit {type(module).__name__}: {"; ".join(problems[:_SHOWN])}{more}. '
            "It belongs to another model or version: use the folder as its publisher offers it."
        )
    with torch.inference_mode(False):
        complete: dict[str, torch.Tensor] = {}
        for names in groups:
            tensor = next(given[name] for name in names if name in given)
            old = wanted[names[0]]
            if isinstance(old, nn.Parameter):
                tensor = nn.Parameter(tensor.detach(), requires_grad=old.requires_grad)
            complete |= dict.fromkeys(names, tensor)
        module.load_state_dict(complete, strict=True, assign=True)
        _fill_buffers(module)


def _groups(wanted: Mapping[str, torch.Tensor]) -> list[list[str]]:
    """The names of the module's state, those of one and the same tensor together."""
    groups: dict[int, list[str]] = {}
    for name, tensor in wanted.items():
        groups.setdefault(id(tensor), []).append(name)
    return list(groups.values())


def _problems(
    wanted: Mapping[str, torch.Tensor], groups: list[list[str]], given: Mapping[str, torch.Tensor]
) -> Iterator[str]:
    yield from (f'"{names[0]}" is missing' for names in groups if not any(name in given for name in names))
    yield from (f'"{name}" is not part of this architecture' for name in given if name not in wanted)
    for name, tensor in given.items():
        place = wanted.get(name)
        if place is None:
            continue
        if tensor.shape != place.shape:
            yield f'"{name}" has shape {tuple(tensor.shape)} instead of {tuple(place.shape)}'
        elif (tensor.is_floating_point(), tensor.is_complex()) != (place.is_floating_point(), place.is_complex()):
            yield f'"{name}" holds {_kind(tensor)} instead of {_kind(place)}'
    for names in groups:
        first, *others = [name for name in names if name in given] or [""]
        for other in others:
            if not torch.equal(given[first], given[other]):
                yield f'"{first}" and "{other}" are one weight in this architecture but differ'


def _kind(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _fill_buffers(module: nn.Module) -> None:
    for part in module.modules():
        # The caller may build under torch.device("meta"), where arange() would give meta again.
        if next(_on_meta(part), None) is not None and isinstance(part, FillsBuffers):
            with torch.device("cpu"):
                part.fill_buffers()
    for path, part in module.named_modules():
        for name in _on_meta(part):
            raise EngineError(
                f'"{f"{path}.{name}".lstrip(".")}" of {type(module).__name__} has no values: it is in no checkpoint, '
                f"and {type(part).__name__} has no fill_buffers() that computes it."
            )


def _on_meta(part: nn.Module) -> Iterator[str]:
    """Names of the module's own tensors without values; plain attributes count too."""
    own = {**dict(part.named_parameters(recurse=False)), **dict(part.named_buffers(recurse=False)), **vars(part)}
    return (name for name, tensor in own.items() if isinstance(tensor, torch.Tensor) and tensor.is_meta)
