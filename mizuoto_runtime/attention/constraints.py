"""What a kernel can do as data, what a call asks for as data, and the one function that compares them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

MaskKind = Literal["none", "bool", "additive"]


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What matters of one attention call for the choice of its kernel.

    Attributes:
        device_type: "cuda", "cpu", ...
        dtype: Of query, key and value.
        head_dim: Channels of a head.
        mask: Its kind; "none" with `is_causal`.
        is_causal: Position t sees positions up to t.
        is_square: As many queries as keys.
        is_grouped: Query heads share key heads.
        is_sequence: The site is token by token.
        needs_backward: A gradient is recorded.
        capability: Compute capability of the device, where it has one.
    """

    device_type: str
    dtype: torch.dtype
    head_dim: int
    mask: MaskKind = "none"
    is_causal: bool = False
    is_square: bool = True
    is_grouped: bool = False
    is_sequence: bool = False
    needs_backward: bool = False
    capability: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Constraints:
    """What a kernel can do; the defaults are what every kernel should.

    Attributes:
        device_types: Where it runs; empty is everywhere.
        dtypes: What it computes in; empty is everything.
        max_head_dim: 0 is no limit.
        head_dim_multiple: What a head's width must be a multiple of.
        masks: Kinds that it takes.
        has_uneven_causal: Whether its causal mask starts at the first key when there are more keys than queries.
        has_groups: Whether query heads may share key heads.
        is_exact: Whether it keeps the scores' precision; token-by-token sites take no other (S210).
        has_backward: Whether a gradient passes through.
        min_capability: The oldest GPU it has code for, as compute capability.
    """

    device_types: frozenset[str] = frozenset()
    dtypes: frozenset[torch.dtype] = frozenset()
    max_head_dim: int = 0
    head_dim_multiple: int = 1
    masks: frozenset[MaskKind] = frozenset({"none"})
    has_uneven_causal: bool = True
    has_groups: bool = True
    is_exact: bool = True
    has_backward: bool = True
    min_capability: tuple[int, int] | None = None


def refusal(can: Constraints, call: CallFacts) -> str | None:
    """Why a kernel that `can` do this much does not take the call, or None if it does."""
    return _device_refusal(can, call) or _tensor_refusal(can, call) or _score_refusal(can, call)


def _device_refusal(can: Constraints, call: CallFacts) -> str | None:
    if can.device_types and call.device_type not in can.device_types:
        return f"GPU mismatch: it runs on {', '.join(sorted(can.device_types))}, the model is on {call.device_type}"
    if can.min_capability and call.capability and call.capability < can.min_capability:
        needed, found = (".".join(map(str, each)) for each in (can.min_capability, call.capability))
        return f"GPU mismatch: it needs compute capability {needed}, the GPU has {found}"
    return None


def _tensor_refusal(can: Constraints, call: CallFacts) -> str | None:
    if can.dtypes and call.dtype not in can.dtypes:
        name = "fp32" if call.dtype == torch.float32 else str(call.dtype).removeprefix("torch.")
        return f"{name}: it computes in {', '.join(sorted(str(each).removeprefix('torch.') for each in can.dtypes))}"
    if can.max_head_dim and call.head_dim > can.max_head_dim:
        return f"head size {call.head_dim}: it takes up to {can.max_head_dim}"
    if call.head_dim % can.head_dim_multiple:
        return f"head size {call.head_dim}: it takes multiples of {can.head_dim_multiple}"
    if call.is_grouped and not can.has_groups:
        return "shared key heads: it needs as many as query heads"
    if call.needs_backward and not can.has_backward:
        return "no backward: a gradient is recorded"
    return None


def _score_refusal(can: Constraints, call: CallFacts) -> str | None:
    if call.mask not in can.masks:
        return f"unsupported mask: {call.mask}"
    if call.is_causal and not call.is_square and not can.has_uneven_causal:
        return "unsupported mask: causal with more keys than queries"
    if call.is_sequence and not can.is_exact:
        return "token by token: rounded scores add up and the speech would not end"
    return None
