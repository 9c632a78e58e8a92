"""Who gets which bytes: pure functions from sizes and budgets to decisions, with no tensor in sight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["oneshot", "sequence"]


def placement_order(unit_bytes: Sequence[int], hot: Sequence[bool], kind: Kind) -> list[int]:
    """Unit indices in the order in which they are placed (S118).

    Hot units come first; then `sequence` handles keep run order, so that the same layers stay out for every token,
    and `oneshot` handles place the largest unit first.
    """
    by_size = kind == "oneshot"
    return sorted(range(len(unit_bytes)), key=lambda i: (not hot[i], -unit_bytes[i] if by_size else i, i))


def fitting_units(order: Sequence[int], unit_bytes: Sequence[int], budget: float) -> list[int]:
    """The units of `order` that are placed within `budget` bytes, in order; the first that does not fit ends it.

    Ending there, and not trying smaller ones behind it, keeps the set a prefix: growing the budget only adds units.
    """
    chosen: list[int] = []
    for index in order:
        budget -= unit_bytes[index]
        if budget < 0:
            break
        chosen.append(index)
    return chosen


@dataclass(frozen=True, slots=True)
class Share:
    """What one handle of a phase asks for: its whole size and the least it can run with."""

    size_bytes: int
    minimum_bytes: int


def split_budget(shares: Sequence[Share], budget: int) -> list[int]:
    """Divide `budget` between the handles of one phase (S152).

    Smaller handles are placed whole first, as long as the others keep their minimum; the largest gets the rest.
    Nobody gets less than its minimum: when even the minimums do not fit, they are tried all the same (S111).
    """
    granted = [share.minimum_bytes for share in shares]
    spare = budget - sum(granted)
    for index in sorted(range(len(shares)), key=lambda i: (shares[i].size_bytes, i)):
        extra = max(0, min(spare, shares[index].size_bytes - granted[index]))
        granted[index] += extra
        spare -= extra
    return granted


@dataclass(frozen=True, slots=True)
class Tenant:
    """One handle that could give way."""

    loaded_bytes: int
    size_bytes: int
    last_used: float


def yielding_order(tenants: Sequence[Tenant]) -> list[int]:
    """Indices in the order in which idle handles give way: partly loaded first, then least recently used (S148)."""
    return sorted(
        range(len(tenants)),
        key=lambda i: (tenants[i].loaded_bytes >= tenants[i].size_bytes, tenants[i].last_used, i),
    )
