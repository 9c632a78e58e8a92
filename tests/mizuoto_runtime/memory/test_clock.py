import pytest
from hypothesis import given
from hypothesis import strategies as st
from mizuoto.mizuoto_runtime.memory.clock import Work, run_passes


def alike(num_units, compute_s, gap_s=0.0, order=()):
    """Units of 10 bytes that take 1 s to copy."""
    return Work([10] * num_units, [compute_s] * num_units, [1.0] * num_units, gap_s, order)


def last(passes):
    return passes.duration_s[-1]


def test_resident_units_only_compute():
    passes = run_passes(alike(4, 0.5, gap_s=2.0), range(4), 0, is_early=True, num_passes=3)
    assert passes.duration_s == (4.0, 4.0, 4.0)
    assert passes.copied_bytes == (0, 0, 0)


def test_on_demand_nothing_overlaps():
    passes = run_passes(alike(4, 0.5, gap_s=2.0), [0, 1], 1, is_early=False, num_passes=3)
    assert passes.duration_s == (6.0, 6.0, 6.0)
    assert passes.copied_bytes == (20, 20, 20)


def test_an_early_copy_runs_under_the_resident_units_between():
    early = run_passes(alike(4, 0.5), [0, 2], 1, is_early=True, num_passes=4)
    assert early.duration_s[0] == 4.0  # learns the order
    assert early.duration_s[1] == 3.5  # knows what follows, but not that the first follows the last
    assert early.duration_s[2:] == (3.0, 3.0)
    assert early.steady_s == pytest.approx(9.5 / 3)
    assert early.copied_bytes == (20, 20, 20, 20)


def test_two_slots_copy_under_the_streamed_unit_itself():
    assert last(run_passes(alike(3, 0.5), [], 1, is_early=True)) == pytest.approx(4.5)
    assert last(run_passes(alike(3, 0.5), [], 2, is_early=True)) == pytest.approx(3.0)
    assert last(run_passes(alike(3, 3.0), [], 2, is_early=True)) == pytest.approx(9.0)


def test_the_order_wraps_round_so_that_the_gap_hides_a_copy():
    assert last(run_passes(alike(2, 0.1, gap_s=5.0), [], 1, is_early=True)) == pytest.approx(5.0 + 0.1 + 1.0 + 0.1)
    assert last(run_passes(alike(2, 0.1, gap_s=5.0), [], 1, is_early=False)) == pytest.approx(5.0 + 2 * 1.1)


@pytest.mark.parametrize(
    ("order", "num_slots", "expected"),
    [
        ((0, 0, 1, 1), 1, [20, 20, 20]),  # both halves of a guided step with one copy
        ((0, 1, 0, 1), 1, [40, 40, 40]),
        ((0, 1, 0, 1), 2, [20, 0, 0]),  # both stay in their slots
        ((0, 1, 0, 2), 2, [30, 30, 30]),
    ],
)
def test_a_unit_in_its_slot_is_not_copied_again(order, num_slots, expected):
    for is_early in (False, True):
        passes = run_passes(alike(3, 0.5, order=order), [], num_slots, is_early=is_early, num_passes=3)
        assert list(passes.copied_bytes) == expected


def test_a_slot_is_free_after_the_last_use_of_its_unit():
    work = Work([10, 10], [1.0, 1.0], [4.0, 4.0], order=(0, 0, 1))
    assert last(run_passes(work, [], 1, is_early=True)) == pytest.approx(4 + 2 + 4 + 1)


@pytest.mark.parametrize(  # of 28 units, 14 places: seconds a pass by the model this clock replaces
    ("compute_s", "gap_s", "is_spread", "num_slots", "expected"),
    [
        (0.5, 0.0, True, 1, 22.5),
        (0.5, 0.0, True, 2, 16.0),
        (0.5, 0.0, False, 1, 28.0),
        (0.5, 0.0, False, 2, 21.0),
        (0.1, 2.0, True, 2, 16.2),
        (0.1, 2.0, False, 3, 17.3),
    ],
)
def test_steady_passes(compute_s, gap_s, is_spread, num_slots, expected):
    num_streamed = 28 - (14 - num_slots)
    streamed = range(28 - num_streamed, 28)
    if is_spread:
        streamed = [int((i + 0.5) * 28 / num_streamed) for i in range(num_streamed)]
    resident = set(range(28)) - set(streamed)
    passes = run_passes(alike(28, compute_s, gap_s), resident, num_slots, is_early=True, num_passes=30)
    assert sum(passes.duration_s[10:]) / 20 == pytest.approx(expected)


def test_work_in_proportion_to_bytes():
    work = Work.in_proportion([1, 3], compute_s=8.0, copy_s=2.0, gap_s=1.0)
    assert (list(work.compute_s), list(work.copy_s), work.gap_s) == ([2.0, 6.0], [0.5, 1.5], 1.0)
    assert list(Work.in_proportion([], 1.0, 1.0).compute_s) == []


UNITS = st.lists(
    st.tuples(st.integers(1, 9), st.floats(0, 3), st.floats(0.01, 3), st.booleans()), min_size=1, max_size=7
)


@given(UNITS, st.integers(1, 3), st.floats(0, 4))
def test_limits_of_every_schedule(units, num_slots, gap_s):
    sizes, compute_s, copy_s, stays = zip(*units, strict=True)
    work = Work(sizes, compute_s, copy_s, gap_s)
    resident = [index for index, stay in enumerate(stays) if stay]
    streamed = [index for index, stay in enumerate(stays) if not stay]
    early, more, demand = (
        run_passes(work, resident, slots, is_early=is_early)
        for slots, is_early in ((num_slots, True), (num_slots + 1, True), (num_slots, False))
    )
    tolerance = 1e-6
    assert more.steady_s <= early.steady_s + tolerance
    assert early.steady_s <= demand.steady_s + tolerance
    assert early.copied_bytes == demand.copied_bytes
    fits = len(streamed) <= num_slots
    assert early.copied_bytes[1:] == (0 if fits else sum(sizes[index] for index in streamed),) * 11
    copying_s = 0 if fits else sum(copy_s[index] for index in streamed)
    assert early.steady_s >= max(copying_s, sum(compute_s) + gap_s) - tolerance
