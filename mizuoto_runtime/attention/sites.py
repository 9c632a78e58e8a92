"""What identifies one attention call of one model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Site:
    """One attention call of one model; layers that repeat it share the site.

    Args:
        name: Shown in reports and errors, `engine:part`.
        num_heads: Query heads.
        head_dim: Channels of a head.
        num_kv_heads: Key and value heads, a divisor of `num_heads`; 0 stands for `num_heads`.

    Raises:
        ValueError: `num_heads` is no multiple of `num_kv_heads`.
    """

    name: str
    num_heads: int
    head_dim: int
    num_kv_heads: int = 0

    def __post_init__(self) -> None:
        if self.num_heads % self.kv_heads:
            raise ValueError(f"{self.name}: {self.num_heads} query heads cannot share {self.kv_heads} key heads")

    @property
    def kv_heads(self) -> int:
        """Key and value heads."""
        return self.num_kv_heads or self.num_heads
