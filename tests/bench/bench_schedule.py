"""The planner's schedules on the virtual clock, against the limits, the best plans there are, and the plain rule."""

from __future__ import annotations

import itertools
import json
import runpy
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
if "mizuoto" not in sys.modules:
    runpy.run_path(str(CONFTEST))

from mizuoto.mizuoto_runtime.memory.clock import Work, run_passes  # noqa: E402
from mizuoto.mizuoto_runtime.memory.plan import Kind, Placement, Seconds, plan_units  # noqa: E402

MAX_RATIO = 1.02
# Where copies and compute differ by less, two slots do not reach their limit; what helps is known after the first pass.
BALANCED = 1.3
NUM_PASSES = 24
UNIT_BYTES = 64
COMPUTE_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0, 2.0, 5.0)  # a unit; its copy takes 1
GAPS_S = (0.5, 1.0, 2.0, 5.0)
FEW, MANY = 8, 28  # few enough to try every plan
ROOMS = {FEW: range(1, FEW), MANY: (2, 4, 6, 10, 14, 18, 20, 24, 26, 27)}


def work_of(num_units: int, compute_s: float, gap_s: float) -> Work:
    """Alike units whose copy takes 1 s."""
    return Work([UNIT_BYTES] * num_units, [compute_s] * num_units, [1.0] * num_units, gap_s)


def steady_s(work: Work, resident: Iterable[int], num_slots: int, is_early: bool = True) -> float:
    """Seconds of a pass from the second on."""
    return run_passes(work, tuple(resident), num_slots, is_early=is_early, num_passes=NUM_PASSES).steady_s


def plan_for(work: Work, room: int, kind: Kind, is_measured: bool) -> Placement:
    """The planner's placement in the room of `room` units."""
    num_units = len(work.unit_bytes)
    seconds = Seconds(sum(work.compute_s), sum(work.copy_s), work.gap_s) if is_measured else None
    hot = [False] * num_units
    budget = room * UNIT_BYTES
    return plan_units(work.unit_bytes, hot, kind, budget, can_overlap=True, seconds=seconds)


@cache
def best_s(num_units: int, room: int, compute_s: float, gap_s: float) -> float:
    """The fastest of every set of residents of few units, or of the last and of evenly spread streamed ones of many."""
    work = work_of(num_units, compute_s, gap_s)
    plans: list[tuple[Iterable[int], int]] = []
    for num_slots in range(1, min(room, 4) + 1):
        num_resident = room - num_slots
        if num_units <= FEW:
            plans += [(resident, num_slots) for resident in itertools.combinations(range(num_units), num_resident)]
            continue
        num_streamed = num_units - num_resident
        spread = {int((i + 0.5) * num_units / num_streamed) for i in range(num_streamed)}
        plans += [(set(range(num_units)) - spread, num_slots), (range(num_resident), num_slots)]
    return min(steady_s(work, resident, num_slots) for resident, num_slots in plans)


def cases(gaps_s: Iterable[float]) -> Iterator[tuple[int, int, float, float]]:
    """Number of units, room, seconds of compute of a unit, seconds of other work."""
    for num_units, rooms in ROOMS.items():
        yield from itertools.product((num_units,), rooms, COMPUTE_S, gaps_s)


def row(name: str, what: str, pairs: Iterable[tuple[float, float]], bar: float) -> dict:
    """The worst of (our seconds, the other's seconds)."""
    pairs = list(pairs)
    ours, other = max(pairs, key=lambda pair: pair[0] / pair[1])
    return {
        "id": f"schedule.{name}",
        "what": f"seconds a pass on the virtual clock, {what}; worst of {len(pairs)} cases",
        "ours": ours,
        "other": other,
        "ratio": ours / other,
        "bar": bar,
        "holds": ours / other <= bar + 1e-9,
    }


def against_limit() -> Iterator[tuple[float, float]]:
    """One-shot plans without measured seconds, of a first pass, against the longer of copies and compute."""
    for num_units, room, compute_s, gap_s in cases((0.0,)):
        work = work_of(num_units, compute_s, gap_s)
        plan = plan_for(work, room, "oneshot", is_measured=False)
        limit_s = limit_of(num_units, room, compute_s)
        if room > 1 and not 1 / BALANCED < (num_units - len(plan.resident)) / (num_units * compute_s) < BALANCED:
            yield steady_s(work, plan.resident, plan.num_slots), limit_s


def from_second_pass() -> Iterator[tuple[float, float]]:
    """One-shot plans with the first pass's seconds against the same limit, or the best plan where none gets there."""
    for num_units, room, compute_s, gap_s in cases((0.0,)):
        work = work_of(num_units, compute_s, gap_s)
        plan = plan_for(work, room, "oneshot", is_measured=True)
        limit_s = limit_of(num_units, room, compute_s) if room > 1 else 0.0
        yield (
            steady_s(work, plan.resident, plan.num_slots),
            max(limit_s, best_s(num_units, room, compute_s, gap_s)),
        )


def limit_of(num_units: int, room: int, compute_s: float) -> float:
    """The longer of the compute of a pass and its copies, with two of the places in the room slots."""
    return max(num_units - (room - 2), num_units * compute_s)


def against_best(kind: Kind, gaps_s: Iterable[float]) -> Iterator[tuple[float, float]]:
    """Plans with measured seconds against the best plans."""
    for case in cases(gaps_s):
        num_units, room, compute_s, gap_s = case
        work = work_of(num_units, compute_s, gap_s)
        plan = plan_for(work, room, kind, is_measured=True)
        yield steady_s(work, plan.resident, plan.num_slots), best_s(*case)


def against_plain_rule(is_measured: bool) -> Iterator[tuple[float, float]]:
    """Autoregressive plans against the first units resident and one slot filled on demand."""
    for num_units, room, compute_s, gap_s in cases((0.0, *GAPS_S)):
        work = work_of(num_units, compute_s, gap_s)
        plan = plan_for(work, room, "sequence", is_measured)
        ours = steady_s(work, plan.resident, plan.num_slots, plan.is_early)
        yield ours, steady_s(work, range(room - 1), 1, is_early=False)


def run() -> Iterable[dict]:
    """All rows."""
    limit = "against the longer of copies and compute"
    yield row("oneshot", f"one-shot, nothing measured, {limit} where they differ", against_limit(), MAX_RATIO)
    second = f"one-shot from the second pass, {limit} or the best of all plans"
    yield row("oneshot.second", second, from_second_pass(), MAX_RATIO)
    yield row("oneshot.measured", "one-shot, against the best plan", against_best("oneshot", (0.0,)), MAX_RATIO)
    yield row("sequence", "autoregressive, against the best plan", against_best("sequence", (0.0,)), MAX_RATIO)
    yield row("sequence.gap", "the same with other work in a pass", against_best("sequence", GAPS_S), MAX_RATIO)
    rule = "against the first units resident and copies on demand"
    yield row("sequence.rule", f"autoregressive, nothing measured, {rule}", against_plain_rule(False), 1.0)
    yield row("sequence.rule.measured", f"autoregressive, {rule}", against_plain_rule(True), 1.0)


if __name__ == "__main__":
    for found in run():
        print(json.dumps(found))
