import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mizuoto.mizuoto_runtime.memory import plan as plan_module
from mizuoto.mizuoto_runtime.memory.clock import Work, run_passes
from mizuoto.mizuoto_runtime.memory.plan import (
    Placement,
    Seconds,
    Share,
    Tenant,
    minimum_bytes,
    placement_order,
    plan_units,
    split_budget,
    yielding_order,
)


@pytest.mark.parametrize(
    ("sizes", "hot", "kind", "expected"),
    [
        ([1, 3, 2], [False] * 3, "sequence", [0, 1, 2]),
        ([1, 3, 2], [False] * 3, "oneshot", [1, 2, 0]),
        ([1, 3, 2], [True, False, True], "oneshot", [2, 0, 1]),
        ([1, 3, 2], [False, False, True], "sequence", [2, 0, 1]),
        ([5, 5, 5], [False] * 3, "oneshot", [0, 1, 2]),  # equals keep run order
        ([], [], "oneshot", []),
    ],
)
def test_placement_order(sizes, hot, kind, expected):  # S118
    assert placement_order(sizes, hot, kind) == expected


def streamed_by(plan, num_units):
    return [index for index in range(num_units) if index not in plan.resident]


def plan_alike(num_units, room, kind="sequence", can_overlap=True, seconds=None):
    """The plan of units of 10 bytes within `room` of them."""
    return plan_units([10] * num_units, [False] * num_units, kind, 10 * room, can_overlap=can_overlap, seconds=seconds)


def test_what_fits_is_resident_without_slots():
    for kind in ("oneshot", "sequence"):
        for budget in (60, 61, float("inf")):
            plan = plan_units([10, 30, 20], [False, False, True], kind, budget, can_overlap=True)
            assert plan == Placement((2, 1, 0))
        assert plan_units([], [], kind, 0, can_overlap=True) == Placement(())


@pytest.mark.parametrize("budget", [-5, 0, 29, 30])
def test_least_plan_is_one_slot_of_the_largest_unit(budget):  # S119
    for kind in ("oneshot", "sequence"):
        for can_overlap in (False, True):
            plan = plan_units([10, 30, 20], [True, False, False], kind, budget, can_overlap=can_overlap)
            assert plan == Placement((), 1, 30, is_early=can_overlap)


def test_a_slot_never_costs_more_than_its_only_unit():
    assert plan_units([10], [False], "sequence", 0, can_overlap=True) == Placement((0,))
    assert minimum_bytes(5, [10]) == 15


@pytest.mark.parametrize(("unit_bytes", "expected"), [([], 7), ([10, 30, 20], 37)])
def test_minimum_bytes(unit_bytes, expected):  # S119
    assert minimum_bytes(7, unit_bytes) == expected


def test_streamed_units_of_a_sequence_are_evenly_spread():
    plan = plan_alike(12, 9)
    assert streamed_by(plan, 12) == [1, 4, 7, 10]
    assert (plan.num_slots, plan.slot_bytes, plan.is_early) == (1, 10, True)


@given(st.integers(2, 40), st.data())
def test_spread_is_even_round_the_circle(num_units, data):
    room = data.draw(st.integers(1, num_units - 1))
    for kind in ("oneshot", "sequence"):
        streamed = streamed_by(plan_alike(num_units, room, kind), num_units)
        following = [*streamed[1:], streamed[0] + num_units]
        between = [later - earlier for earlier, later in zip(streamed, following, strict=True)]
        assert max(between) - min(between) <= 1


def test_long_work_between_passes_takes_the_place_of_residents():
    plan = plan_alike(12, 9, seconds=Seconds(1.2, 12.0, 5.0))
    streamed = streamed_by(plan, 12)
    assert (streamed[0], streamed[-1]) == (0, 11)


@pytest.mark.parametrize(
    ("kind", "can_overlap", "num_slots"),
    [("oneshot", True, 2), ("oneshot", False, 1), ("sequence", True, 1), ("sequence", False, 1)],
)
def test_slots_without_measured_seconds(kind, can_overlap, num_slots):  # S123, S127
    plan = plan_alike(8, 5, kind, can_overlap)
    assert (plan.num_slots, plan.is_early) == (num_slots, can_overlap)
    assert len(plan.resident) == 5 - num_slots


@pytest.mark.parametrize(
    ("compute_s", "num_slots"),
    [(0.01, 1), (0.5, 2), (0.9, 3), (5.0, 1)],  # seconds a unit; copies take 1
)
def test_slots_follow_measured_seconds(compute_s, num_slots):
    for kind in ("oneshot", "sequence"):
        plan = plan_alike(8, 4 if compute_s < 5 else 7, kind, seconds=Seconds(8 * compute_s, 8.0))
        assert plan.num_slots == num_slots
        assert plan_alike(8, 4, kind, can_overlap=False, seconds=Seconds(8 * compute_s, 8.0)).num_slots == 1


def test_room_for_one_unit_more_costs_no_resident(monkeypatch):
    fastest = {4: 1, 5: 3, 6: 3}  # room -> slots, on a machine that wants two more at once

    def steady_s(work, plan):
        return 1.0 if fastest[len(plan.resident) + plan.num_slots] == plan.num_slots else 2.0

    monkeypatch.setattr(plan_module, "_steady_s", steady_s)
    plans = [plan_alike(8, room, seconds=Seconds(1.0, 1.0)) for room in fastest]
    assert [(len(plan.resident), plan.num_slots) for plan in plans] == [(3, 1), (3, 2), (3, 3)]


def test_hot_units_stay_before_larger_ones():  # S118
    sizes, hot = [30, 10, 30, 10], [False, True, False, True]
    assert plan_units(sizes, hot, "sequence", 50, can_overlap=True) == Placement((3, 1), 1, 30, True)
    assert set(plan_units(sizes, hot, "oneshot", 40, can_overlap=False).resident) < {1, 3}


def test_uneven_units():
    # The large unit in place, the slot is small; the rest of the budget takes what fits.
    assert plan_units([100, 30, 30, 5], [False] * 4, "oneshot", 135, can_overlap=False) == Placement((0, 3), 1, 30)
    # Largest first would waste 40 of the 100 bytes beside the slot that run order fills.
    assert set(plan_units([50, 50, 60, 60], [False] * 4, "sequence", 160, can_overlap=False).resident) == {0, 1}
    # Two slots of the large units do not fit; no units go back when they do.
    before = plan_units([100, 100, 60], [False] * 3, "oneshot", 199, can_overlap=True)
    after = plan_units([100, 100, 60], [False] * 3, "oneshot", 200, can_overlap=True)
    assert (before.num_slots, before.resident) == (1, ())
    assert (after.num_slots, after.resident) == (2, ())
    # Nor is a second slot worth more than the whole.
    stages = plan_units([100, 50, 25, 12], [False] * 4, "oneshot", 180, can_overlap=True)
    assert stages == Placement((0, 1), 1, 25, True)


def test_units_released_in_turn_lie_far_apart():
    order = plan_alike(8, 8).resident
    assert order[::-1] == (0, 4, 2, 6, 1, 5, 3, 7)


UNITS = st.lists(st.tuples(st.sampled_from([1, 2, 3, 7, 16]), st.booleans()), min_size=1, max_size=7)
ALIKE = st.builds(
    lambda n, hot: [*((3, True) for _ in range(hot)), *((8, False) for _ in range(n))],
    st.integers(1, 9),
    st.integers(0, 2),
)
SECONDS = st.one_of(
    st.none(),
    st.builds(Seconds, st.floats(0, 20), st.floats(0.1, 20), st.sampled_from([0.0, 1.0, 9.0])),
)


@settings(deadline=None, max_examples=50)
@given(UNITS | ALIKE, st.sampled_from(["oneshot", "sequence"]), st.booleans(), SECONDS)
def test_budgets(units, kind, can_overlap, seconds):
    sizes, hot = zip(*units, strict=True)
    resident_bytes = 0
    for budget in range(sum(sizes) + 2):
        plan = plan_units(sizes, hot, kind, budget, can_overlap=can_overlap, seconds=seconds)
        before, resident_bytes = resident_bytes, sum(sizes[index] for index in plan.resident)
        assert resident_bytes >= before  # a larger budget never keeps less
        assert len(set(plan.resident)) == len(plan.resident)
        streamed = streamed_by(plan, len(sizes))
        assert plan.slot_bytes == max((sizes[index] for index in streamed), default=0)
        assert bool(plan.num_slots) == bool(streamed)
        assert resident_bytes + plan.num_slots * plan.slot_bytes <= max(budget, max(sizes))
    assert not streamed


def prefix_on_demand(sizes, hot, budget):
    """The residents of the plain rule: the first that fit beside one slot for the others."""
    order = placement_order(sizes, hot, "sequence")
    fitting = [
        length
        for length in range(len(order))
        if sum(sizes[i] for i in order[:length]) + max(sizes[i] for i in order[length:]) <= budget
    ]
    return order[: max(fitting, default=0)]


@settings(deadline=None)
@given(UNITS | ALIKE, st.data(), SECONDS, st.floats(0, 20), st.floats(0, 9))
def test_a_sequence_is_never_slower_than_with_the_first_units_resident(units, data, seconds, compute_s, gap_s):
    sizes, hot = zip(*units, strict=True)
    budget = data.draw(st.integers(0, sum(sizes) - 1))
    plan = plan_units(sizes, hot, "sequence", budget, can_overlap=True, seconds=seconds)
    real = seconds or Seconds(compute_s, 10.0, gap_s)
    work = Work.in_proportion(sizes, real.compute_s, real.copy_s, real.gap_s)
    ours = run_passes(work, plan.resident, plan.num_slots, is_early=plan.is_early).steady_s
    plain = run_passes(work, prefix_on_demand(sizes, hot, budget), 1, is_early=False).steady_s
    assert ours <= plain + 1e-9


@pytest.mark.parametrize("gap_s", [0.0, 0.5, 4.0])
@pytest.mark.parametrize("compute_s", [0.05, 0.3, 0.8, 1.5])
def test_measured_plans_are_within_two_percent_of_the_best(compute_s, gap_s):
    work = Work([10] * 6, [compute_s] * 6, [1.0] * 6, gap_s)
    for room in range(1, 6):
        best = min(
            run_passes(work, resident, num_slots, is_early=True).steady_s
            for num_slots in range(1, min(room, 3) + 1)
            for resident in itertools.combinations(range(6), room - num_slots)
        )
        for kind in ("oneshot", "sequence"):
            plan = plan_alike(6, room, kind, seconds=Seconds(6 * compute_s, 6.0, gap_s))
            ours = run_passes(work, plan.resident, plan.num_slots, is_early=plan.is_early).steady_s
            assert ours <= 1.02 * best


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (100, [20, 50]),  # both whole
        (60, [20, 40]),  # the small one whole, the large one the rest
        (25, [15, 10]),  # the large one keeps its minimum
        (15, [5, 10]),  # just the minimums
        (0, [5, 10]),  # tried all the same
        (-7, [5, 10]),
    ],
)
def test_split_budget(budget, expected):  # S152
    assert split_budget([Share(20, 5), Share(50, 10)], budget) == expected
    assert split_budget([Share(50, 10), Share(20, 5)], budget) == expected[::-1]


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=5), st.integers(-50, 600))
def test_shares_stay_within_bounds(pairs, budget):
    shares = [Share(max(pair), min(pair)) for pair in pairs]
    granted = split_budget(shares, budget)
    assert all(share.minimum_bytes <= got <= share.size_bytes for share, got in zip(shares, granted, strict=True))
    least, most = sum(share.minimum_bytes for share in shares), sum(share.size_bytes for share in shares)
    assert sum(granted) == min(max(budget, least), most)


def test_yielding_order():  # S148
    whole_old, whole_new = Tenant(10, 10, 1.0), Tenant(10, 10, 2.0)
    partly_old, partly_new = Tenant(3, 10, 3.0), Tenant(9, 10, 4.0)
    assert yielding_order([whole_new, partly_new, whole_old, partly_old]) == [3, 1, 2, 0]
    assert yielding_order([Tenant(1, 1, 5.0), Tenant(1, 1, 5.0)]) == [0, 1]
    assert yielding_order([]) == []
    kept_old, kept_partly = Tenant(10, 10, 0.5, True), Tenant(3, 10, 0.5, True)
    assert yielding_order([kept_old, whole_new, kept_partly, partly_old]) == [3, 2, 1, 0]
