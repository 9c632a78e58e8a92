from dataclasses import dataclass

import pytest
from mizuoto.mizuoto_runtime.memory.meter import MOST_RUNS, NUM_FIRST, ONE_OF, Meter
from mizuoto.mizuoto_runtime.memory.plan import Seconds


@dataclass
class Clock:
    """A queue whose marks are a time that tests set; what is later than `reached` the device has not come to."""

    now: float = 0.0
    reached: float = float("inf")
    marks: int = 0
    copies: list | None = None
    overlaps = True

    def mark(self):
        self.marks += 1
        return self.now

    def seconds(self, since, until):
        return until - since if until <= self.reached else None


def run_pass(meter, clock, compute_s=2.0, copy_s=3.0, gap_s=0.0, resident_s=0.0, units="ab"):
    """Every unit has 10 bytes, is copied before it computes, and is followed by some resident ones."""
    for unit in units:
        wanted = meter.wants(unit, clock)
        began = clock.now
        clock.now += copy_s
        if clock.copies is not None:
            clock.copies.append((began, clock.now, 10))
        if wanted is not None:
            meter.has(unit, 10, wanted)
        clock.now += compute_s
        if wanted is not None:
            meter.leaves()
        clock.now += resident_s
    clock.now += gap_s


def test_nothing_is_known_before_a_pass_was_measured():
    meter, clock = Meter(40), Clock()
    assert meter.seconds() is None
    run_pass(meter, clock)
    assert meter.seconds() is None  # it may go on
    run_pass(meter, clock)
    assert meter.seconds() == Seconds(8.0, 12.0, 0.0)  # of four units, though two stream


def test_what_is_neither_copying_nor_computing_is_the_gap():
    meter, clock = Meter(40), Clock()
    for _ in range(4):
        run_pass(meter, clock, gap_s=5.0, resident_s=2.0)
    assert meter.seconds() == Seconds(8.0, 12.0, 5.0)


def test_time_between_phases_is_no_gap():
    meter, clock = Meter(20), Clock()
    for _ in range(3):  # a pass each
        run_pass(meter, clock)
        meter.stop()
        clock.now += 1000.0
    assert meter.seconds() == Seconds(4.0, 6.0, 0.0)


def test_figures_are_smoothed():
    meter, clock = Meter(20), Clock()
    for compute_s in (2.0, 4.0):
        run_pass(meter, clock, compute_s)
        meter.stop()
    assert meter.seconds().compute_s == pytest.approx(6.0)


def test_the_device_is_never_waited_for():
    meter, clock = Meter(20), Clock(reached=-1.0)
    for _ in range(NUM_FIRST):
        run_pass(meter, clock)
    assert meter.seconds() is None
    assert clock.copies is None  # one measured pass at a time is under way
    clock.reached = clock.now
    assert meter.seconds() == Seconds(4.0, 6.0, 0.0)


def test_few_passes_are_measured():
    meter, clock = Meter(20), Clock()
    marks = []
    for _ in range(NUM_FIRST + 4 * ONE_OF):
        before = clock.marks
        run_pass(meter, clock)
        marks.append(clock.marks - before)
    assert sum(bool(number) for number in marks) <= NUM_FIRST + 4 + 5  # a measured pass ends with the next one's begin
    assert max(marks) <= 3 * 2 + 2


def test_units_that_stay_in_their_slots_keep_what_copies_took():
    meter, clock = Meter(20), Clock()
    for copy_s in (3.0, 0.0):
        for unit in "ab":
            wanted = meter.wants(unit, clock)
            if copy_s:
                clock.copies.append((clock.now, clock.now + copy_s, 10))
            clock.now += copy_s
            meter.has(unit, 10, wanted)
            clock.now += 2.0
            meter.leaves()
        meter.stop()
    assert meter.seconds() == Seconds(4.0, 6.0, 0.0)


def test_a_unit_that_runs_once_before_many_steps_makes_no_long_pass():
    meter, clock = Meter(30), Clock()
    run_pass(meter, clock, units="x" + "ab" * 20)
    meter.stop()
    assert meter.seconds() == Seconds(6.0, 9.0, 0.0)


def test_a_unit_that_does_not_come_again_ends_no_pass_for_ever():
    meter, clock = Meter(30), Clock()
    run_pass(meter, clock, units="x")
    for _ in range(MOST_RUNS):
        run_pass(meter, clock, gap_s=5.0)
    run_pass(meter, clock)
    found = meter.seconds()  # of the third unit no pass is known: the gap has its compute
    assert (found.compute_s, found.copy_s, found.gap_s) == pytest.approx((6.0, 9.0, 3.0))
    assert len(meter._sample.runs if meter._sample else []) < MOST_RUNS


def test_a_pass_that_was_interrupted_counts_what_was_done():
    meter, clock = Meter(20), Clock()
    run_pass(meter, clock, units="a")
    meter.has("b", 10, meter.wants("b", clock))
    meter.stop()
    assert meter.seconds() == Seconds(4.0, 6.0, 0.0)
    meter.wants("a", clock)
    meter.stop()
    meter.stop()
    assert meter.seconds() == Seconds(4.0, 6.0, 0.0)


@pytest.mark.parametrize("units", ["aab", "aabb"])
def test_repeated_units_are_one_pass(units):
    meter, clock = Meter(10 * len(set(units))), Clock()
    for _ in range(3):
        run_pass(meter, clock, copy_s=1.0, units=units)
    meter.stop()
    assert meter.seconds().compute_s == pytest.approx(2.0 * len(units))
