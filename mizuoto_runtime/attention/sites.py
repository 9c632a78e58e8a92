"""What identifies one attention call of one model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import torch

if TYPE_CHECKING:
    from .select import AttentionPolicy

# (query, key, value, mask, causal, scale) as in `attend` -> its result.
Kernel: TypeAlias = Callable[
    [torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None, bool, float | None], torch.Tensor
]


@dataclass(frozen=True, slots=True)
class Site:
    """One attention call of one model; layers that repeat it share the site.

    The module that calls `attend` keeps its site as an attribute, which is where `AttentionPolicy.bind` finds it.

    Args:
        name: Shown in reports and errors, `engine:part`; within a model, one name stands for one shape.
        num_heads: Query heads.
        head_dim: Channels of a head.
        num_kv_heads: Key and value heads, a divisor of `num_heads`; 0 stands for `num_heads`.
        is_sequence: Whether the model goes on from its own output, token by token: errors add up there.
        is_fixed: Whether every choice keeps the reference, as where relative positions enter the scores (S213).
        reference: The upstream's computation; torch's scaled dot product attention when None.
        policy: Set by `AttentionPolicy.bind`; None runs the reference.

    Attributes:
        kv_heads: Key and value heads.
        is_grouped: Whether query heads share key heads.

    Raises:
        ValueError: `num_heads` is no multiple of `num_kv_heads`.
    """

    name: str
    num_heads: int
    head_dim: int
    num_kv_heads: int = 0
    is_sequence: bool = False
    is_fixed: bool = False
    reference: Kernel | None = None
    policy: AttentionPolicy | None = field(default=None, repr=False, compare=False)
    # Fields, not properties: `attend` reads them in every call.
    kv_heads: int = field(init=False, repr=False, compare=False)
    is_grouped: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        kv_heads = self.num_kv_heads or self.num_heads
        if self.num_heads % kv_heads:
            raise ValueError(f"{self.name}: {self.num_heads} query heads cannot share {kv_heads} key heads")
        object.__setattr__(self, "kv_heads", kv_heads)
        object.__setattr__(self, "is_grouped", kv_heads != self.num_heads)
