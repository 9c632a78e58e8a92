"""Putting named tensors into a module, strictly: every key has a place and every place gets a key (S037)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import nn

from ..errors import ModelFileError

_SHOWN = 3


def strip_prefix(tensors: Iterable[tuple[str, torch.Tensor]], prefix: str) -> dict[str, torch.Tensor]:
    """The tensors whose names begin with `prefix`, under their names without it."""
    return {name[len(prefix) :]: tensor for name, tensor in tensors if name.startswith(prefix)}


def load_into(module: nn.Module, tensors: Mapping[str, torch.Tensor], source: str) -> None:
    """Make `tensors` the parameters and buffers of `module`, without copying.

    Args:
        module: May have been built on the meta device.
        tensors: Exactly the module's keys, with its shapes.
        source: The file or folder, for error messages.

    Raises:
        ModelFileError: Missing or extra keys, or another shape; the first few are named.
    """
    wanted = {name: tensor.shape for name, tensor in module.state_dict().items()}
    problems = [f'"{name}" is missing' for name in wanted if name not in tensors]
    problems += [f'"{name}" is not part of this architecture' for name in tensors if name not in wanted]
    problems += [
        f'"{name}" has shape {tuple(tensor.shape)} instead of {tuple(wanted[name])}'
        for name, tensor in tensors.items()
        if name in wanted and tensor.shape != wanted[name]
    ]
    if problems:
        more = f" (and {len(problems) - _SHOWN} more)" if len(problems) > _SHOWN else ""
        raise ModelFileError(
            f'"{source}" does not fit {type(module).__name__}: {"; ".join(problems[:_SHOWN])}{more}. '
            "It belongs to another model or version: use the folder as its publisher offers it."
        )
    module.load_state_dict(tensors, strict=True, assign=True)
