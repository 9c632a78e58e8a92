"""Who gets which bytes: pure functions from sizes and budgets to decisions, with no tensor in sight."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, compress
from typing import Literal

from .clock import Work, run_passes

Kind = Literal["oneshot", "sequence"]

# Two keep the copy engine busy except where copies and compute take about as long, and there the third is the last.
MAX_SLOTS = 3
# The gain of a slot comes from measured times, so it must be more than their noise.
MIN_SLOT_GAIN = 0.005


def placement_order(unit_bytes: Sequence[int], hot: Sequence[bool], kind: Kind) -> list[int]:
    """Unit indices in the order in which a budget is filled (S118): hot ones, then by size or in run order."""
    by_size = kind == "oneshot"
    return sorted(range(len(unit_bytes)), key=lambda i: (not hot[i], -unit_bytes[i] if by_size else i, i))


@dataclass(frozen=True, slots=True)
class Seconds:
    """What one pass over all units of a handle takes.

    Attributes:
        compute_s: Computing with the units, all of them together.
        copy_s: Copying every unit once.
        gap_s: Other work in a pass.
    """

    compute_s: float
    copy_s: float
    gap_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a handle's units are while it runs.

    Attributes:
        resident: Indices of the units on the device, in placement order: release goes backwards.
        num_slots: Slots through which the other units stream; 0 when all are resident.
        slot_bytes: Bytes of one slot, those of the largest unit that streams.
        is_early: Whether the next copy is issued the moment a slot is free, not when its unit is entered.
    """

    resident: tuple[int, ...]
    num_slots: int = 0
    slot_bytes: int = 0
    is_early: bool = False


def minimum_bytes(fixed_bytes: int, unit_bytes: Sequence[int]) -> int:
    """The least that must be on the device for a handle to run: fixed part and one slot of the largest unit (S119)."""
    return fixed_bytes + max(unit_bytes, default=0)


def plan_units(
    unit_bytes: Sequence[int],
    hot: Sequence[bool],
    kind: Kind,
    budget: float,
    *,
    can_overlap: bool,
    seconds: Seconds | None = None,
) -> Placement:
    """The placement of a handle's units within `budget` bytes for residents and slots together.

    Hot units stay first, then the largest (or the first to run, where that keeps more). Among units of one size those
    that stream are spread evenly over the pass, so that the copy engine works while the residents between them run. A
    larger budget never keeps fewer bytes resident. Below one slot of the largest unit the plan is that slot alone.

    One-shot handles get two slots where copies overlap with compute and two fit, `sequence` handles one, so that one
    unit more is resident (S127). Where seconds were measured, and the units that are not hot are alike, the number of
    slots is the one that is fastest on the virtual clock. Either way a `sequence` handle is never slower there than on
    demand with the first units resident.

    Args:
        unit_bytes: Bytes of each unit in run order, as a slot holds it (rounded up).
        hot: Which units stay before all others.
        kind: The handle's.
        budget: Bytes for units; the fixed part is already taken off.
        can_overlap: Whether the device copies while it computes.
        seconds: What a pass takes, where that was measured.
    """
    sizes, everything = list(unit_bytes), list(range(len(unit_bytes)))
    if sum(sizes) <= max(budget, max(sizes, default=0)):  # a slot for the only unit would cost as much as the unit
        return Placement(_in_placement_order(everything, sizes, hot))
    gap_units = seconds.gap_s / seconds.compute_s * len(sizes) if seconds and seconds.compute_s else 0.0

    def placement(chosen: Sequence[int], num_slots: int) -> Placement:
        resident = _spread(chosen, sizes, hot, gap_units)
        slot_bytes = max(sizes[index] for index in everything if index not in resident)
        return Placement(_in_placement_order(resident, sizes, hot), num_slots, slot_bytes, is_early=can_overlap)

    largest_first, in_run_order = placement_order(sizes, hot, "oneshot"), placement_order(sizes, hot, "sequence")
    fits = [_fit(order, sizes, budget, 1) for order in (largest_first, in_run_order)]
    chosen = max(fits, key=lambda fit: sum(sizes[index] for index in fit))
    if can_overlap and seconds is not None and _are_alike(chosen, sizes, hot):
        work = Work.in_proportion(sizes, seconds.compute_s, seconds.copy_s, seconds.gap_s)
        return _fastest(work, sorted(chosen, key=lambda index: not hot[index]), sum(hot), placement)
    if kind == "oneshot" and can_overlap:
        return placement(*_fit_two_slots(largest_first, sizes, budget))
    return placement(chosen, 1)


def _are_alike(chosen: Sequence[int], sizes: Sequence[int], hot: Sequence[bool]) -> bool:
    """Whether all hot units are among `chosen` and the others are of one size, so that a slot costs just a resident.

    Otherwise a budget with room for one small unit more could make another slot pay, and send a large one back.
    """
    others = {size for size, is_hot in zip(sizes, hot, strict=True) if not is_hot}
    return len(others) == 1 and set(compress(range(len(sizes)), hot)) <= set(chosen)


def _fastest(
    work: Work, chosen: Sequence[int], num_hot: int, placement: Callable[[Sequence[int], int], Placement]
) -> Placement:
    """The fastest of: all of `chosen` beside one slot, one unit less beside two, and so on; the hot come first."""

    def best_with(count: int) -> Placement:
        most = min(MAX_SLOTS, count - num_hot + 1)
        plans = [placement(chosen[: count + 1 - num_slots], num_slots) for num_slots in range(1, most + 1)]
        return min(plans, key=lambda plan: _steady_s(work, plan) * (1 + MIN_SLOT_GAIN * plan.num_slots))

    plan = best_with(len(chosen))
    if plan.num_slots > 2 and best_with(len(chosen) - 1).num_slots == 1:
        return placement(chosen[:-1], 2)  # or room for one unit more would keep one less
    return plan


def pass_s(unit_bytes: Sequence[int], plan: Placement, seconds: Seconds) -> float:
    """Seconds of a pass with units of these bytes placed so, on the virtual clock, once it has learned the order."""
    return _steady_s(Work.in_proportion(unit_bytes, seconds.compute_s, seconds.copy_s, seconds.gap_s), plan)


def _steady_s(work: Work, plan: Placement) -> float:
    return run_passes(work, plan.resident, plan.num_slots, is_early=plan.is_early).steady_s


def _prefixes(order: Sequence[int], sizes: Sequence[int]) -> list[tuple[int, int]]:
    """For every k below the number of units: bytes of the first k of `order`, and of the largest of the others."""
    ordered = [sizes[index] for index in order]
    held = accumulate(ordered, initial=0)
    largest = list(accumulate(reversed(ordered), max))
    return list(zip(held, reversed(largest), strict=False))


def _fit(
    order: Sequence[int], sizes: Sequence[int], budget: float, num_slots: int, limit: float = math.inf
) -> list[int]:
    """Units of `order` that fit beside `num_slots` slots for the others, at most `limit` bytes of them.

    The longest prefix that fits, and of the rest what fits beside the prefix's slots. Its bytes only grow with the
    budget: slots shrink along the order, so a prefix that does not fit holds more than any that is filled up.
    """
    fitting = [
        (length, budget - num_slots * slot_bytes - held, limit - held)
        for length, (held, slot_bytes) in enumerate(_prefixes(order, sizes))
        if held + num_slots * slot_bytes <= budget and held <= limit
    ]
    if not fitting:
        return []
    length, *spares = fitting[-1]
    spare = min(spares)
    chosen = list(order[:length])
    for index in order[length:]:
        if sizes[index] <= spare:
            chosen.append(index)
            spare -= sizes[index]
    return chosen


def _fit_two_slots(order: Sequence[int], sizes: Sequence[int], budget: float) -> tuple[list[int], int]:
    """The units that stay and the slots beside them: two, or one where two do not fit."""
    least = min(held + 2 * slot_bytes for held, slot_bytes in _prefixes(order, sizes))
    if budget >= least:
        return _fit(order, sizes, budget, 2), 2
    limit = math.inf
    if least < sum(sizes):  # a few bytes more buy the second slot, and must not send units back
        limit = sum(sizes[index] for index in _fit(order, sizes, least, 2))
    return _fit(order, sizes, budget, 1, limit), 1


def _spread(chosen: Sequence[int], sizes: Sequence[int], hot: Sequence[bool], gap_units: float) -> set[int]:
    """As many units of each size as `chosen` has, picked so that those that stream are evenly spread."""
    wanted = Counter((hot[index], sizes[index]) for index in chosen)
    resident: set[int] = set()
    for key, count in wanted.items():
        alike = [index for index in range(len(sizes)) if (hot[index], sizes[index]) == key]
        positions = _even_positions(len(alike), len(alike) - count, gap_units)
        resident.update(index for position, index in enumerate(alike) if position not in positions)
    return resident


def _even_positions(length: int, count: int, gap_units: float) -> set[int]:
    """`count` of `length` places on a circle that is `gap_units` places longer between its last place and its first.

    The gap counts as places that are never picked: with a long one, the first and the last place are picked.
    """
    if count < 2:
        return set(range(length // 2, length // 2 + count))
    level = length / count - 1 - gap_units * (1 - 1 / count)  # what is left for the gap's side once all are level
    around = min(length - count, round(max(0.0, level)))
    steps = count - 1
    return {around // 2 + (i * (length - 1 - around) + steps // 2) // steps for i in range(count)}


def _in_placement_order(
    resident: Sequence[int] | set[int], sizes: Sequence[int], hot: Sequence[bool]
) -> tuple[int, ...]:
    """Hot first, then the largest; among units of one size those that are released in turn lie far apart."""
    width = len(sizes).bit_length()

    def bits_reversed(index: int) -> int:
        return int(f"{index:0{width}b}"[::-1], 2)

    return tuple(sorted(resident, key=lambda i: (not hot[i], -sizes[i], -bits_reversed(i))))


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
    is_kept: bool = False  # the user wants it to go last


def yielding_order(tenants: Sequence[Tenant]) -> list[int]:
    """Indices in the order in which idle handles give way (S148).

    Partly loaded ones first, then those that nobody asked to keep, then the least recently used.
    """
    return sorted(
        range(len(tenants)),
        key=lambda i: (
            tenants[i].loaded_bytes >= tenants[i].size_bytes,
            tenants[i].is_kept,
            tenants[i].last_used,
            i,
        ),
    )
