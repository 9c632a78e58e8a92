"""Folding weight norm into plain weights, with the bits of the hook that upstream computes them in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import torch

from ..errors import ModelFileError

# (name of a gain, its direction); groups 1 and 2 together are the weight's name.
_GAINS = (
    (re.compile(r"((?:.*\.)?)(weight\w*)_g"), r"\1\2_v"),
    (re.compile(r"((?:.*\.)?)parametrizations\.(weight\w*)\.original0"), r"\1parametrizations.\2.original1"),
)


def fold_weight_norm(
    tensors: Mapping[str, torch.Tensor] | Iterable[tuple[str, torch.Tensor]],
) -> dict[str, torch.Tensor]:
    """The tensors with every pair of gain and direction replaced by the weight they stand for.

    Knows `x.weight_g` + `x.weight_v` and `x.parametrizations.weight.original0` + `original1`, of any parameter whose
    name begins with "weight". A gain without direction, or the reverse, stays as it is. The fold happens in the type of
    the tensors: where upstream folds in float32 and converts afterwards, read them as float32.

    Source: `torch.nn.utils.weight_norm` and `torch.nn.utils.parametrizations.weight_norm`, torch 2.13.

    Raises:
        ModelFileError: A gain does not fit its direction, or the weight is there as well.
    """
    folded = dict(tensors)
    for gain_name in list(folded):
        names = _partners(gain_name)
        if names is None or names[0] not in folded:
            continue
        direction_name, weight_name = names
        if weight_name in folded:
            raise ModelFileError(
                f'The checkpoint has both "{weight_name}" and its parts "{gain_name}"; use another file.'
            )
        gain, direction = folded.pop(gain_name), folded.pop(direction_name)
        axis = _axis(gain, direction)
        if axis is None:
            raise ModelFileError(
                f'"{gain_name}" of shape {tuple(gain.shape)} is no gain for "{direction_name}" of shape '
                f"{tuple(direction.shape)}; use the file as its publisher offers it."
            )
        with torch.inference_mode(False), torch.no_grad():
            folded[weight_name] = torch._weight_norm(direction, gain, axis)
    return folded


def _partners(gain_name: str) -> tuple[str, str] | None:
    """Names of direction and weight, if `gain_name` may be a gain."""
    for pattern, direction in _GAINS:
        match = pattern.fullmatch(gain_name)
        if match:
            return match.expand(direction), f"{match[1]}{match[2]}"
    return None


def _axis(gain: torch.Tensor, direction: torch.Tensor) -> int | None:
    """The first axis that keeps its length in `gain`, -1 for one norm over all, None if none fits."""
    if gain.ndim == 0:
        return -1
    if gain.ndim != direction.ndim:
        return None
    for axis, length in enumerate(direction.shape):
        if gain.shape == (*(1,) * axis, length, *(1,) * (direction.ndim - axis - 1)):
            return axis
    return None
