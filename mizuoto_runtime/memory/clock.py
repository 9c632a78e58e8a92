"""A virtual clock: what a pass over partly streamed units takes with one compute queue, one copy engine and a ring.

The planner compares placements with it and tests measure schedules with it; nothing here knows tensors or real time.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Work:
    """One pass over a handle's units.

    Attributes:
        unit_bytes: Bytes of each unit.
        compute_s: Seconds of compute of each unit, every time it runs.
        copy_s: Seconds that one copy of each unit takes.
        gap_s: Seconds of other work on the compute queue at the start of each pass.
        order: The units in the order in which they run, several times where they are run again; empty is once each.
    """

    unit_bytes: Sequence[int]
    compute_s: Sequence[float]
    copy_s: Sequence[float]
    gap_s: float = 0.0
    order: Sequence[int] = ()

    @classmethod
    def in_proportion(cls, unit_bytes: Sequence[int], compute_s: float, copy_s: float, gap_s: float = 0.0) -> Work:
        """Work whose units share the seconds of a whole pass and of one copy of everything by their bytes."""
        total = sum(unit_bytes) or 1
        return cls(
            unit_bytes,
            [compute_s * size / total for size in unit_bytes],
            [copy_s * size / total for size in unit_bytes],
            gap_s,
        )


@dataclass(frozen=True, slots=True)
class Passes:
    """What happened, one entry a pass."""

    duration_s: tuple[float, ...]
    copied_bytes: tuple[int, ...]

    @property
    def steady_s(self) -> float:
        """Mean seconds of a pass from the second on."""
        return sum(self.duration_s[1:]) / (len(self.duration_s) - 1)


def run_passes(
    work: Work, resident: Collection[int], num_slots: int, *, is_early: bool, num_passes: int = 12
) -> Passes:
    """Run `work` with the units outside `resident` streaming through a ring of `num_slots` slots.

    A unit that runs again while it is still in its slot is not copied again. On demand, a copy is issued when its
    unit is entered. Early, it is issued the moment its slot is free, across the end of a pass; that needs an order,
    so the first pass and the first copy of the second are on demand all the same.
    """
    stays = set(resident)
    order = work.order or range(len(work.unit_bytes))
    in_slot: list[int] = []  # units in the ring, oldest copy first
    idle_since: dict[int, float] = {}  # unit -> end of its last run
    compute_end = copy_end = pass_start = 0.0
    durations: list[float] = []
    copied: list[int] = []
    is_learned = False
    for number in range(num_passes):
        num_bytes = 0
        compute_end += work.gap_s
        for index in order:
            if index not in stays and index not in in_slot:
                free_at = idle_since[in_slot.pop(0)] if len(in_slot) == num_slots else 0.0
                issued = free_at if is_early and is_learned else compute_end
                copy_end = max(copy_end, issued) + work.copy_s[index]
                compute_end = max(compute_end, copy_end)
                in_slot.append(index)
                num_bytes += work.unit_bytes[index]
                is_learned = number > 0
            compute_end += work.compute_s[index]
            idle_since[index] = compute_end
        durations.append(compute_end - pass_start)
        copied.append(num_bytes)
        pass_start = compute_end
    return Passes(tuple(durations), tuple(copied))
