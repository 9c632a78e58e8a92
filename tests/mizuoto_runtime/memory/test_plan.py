import pytest
from hypothesis import given
from hypothesis import strategies as st
from mizuoto.mizuoto_runtime.memory.plan import (
    Share,
    Tenant,
    fitting_units,
    placement_order,
    split_budget,
    yielding_order,
)

SIZES = st.lists(st.integers(0, 1000), max_size=8)


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


@pytest.mark.parametrize(
    ("budget", "expected"), [(0, []), (-1, []), (2, []), (3, [1]), (5, [1, 2]), (6, [1, 2, 0]), (1e32, [1, 2, 0])]
)
def test_fitting_units(budget, expected):
    assert fitting_units([1, 2, 0], [1, 3, 2], budget) == expected


@given(SIZES, st.integers(0, 5000), st.integers(0, 5000))
def test_more_budget_only_adds_units(sizes, budget, more):
    order = placement_order(sizes, [False] * len(sizes), "oneshot")
    chosen = fitting_units(order, sizes, budget)
    assert sum(sizes[index] for index in chosen) <= budget
    assert fitting_units(order, sizes, budget + more)[: len(chosen)] == chosen


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
