"""Handles that measured their passes are placed by what they measured."""

import threading

import pytest
import torch
from mizuoto.mizuoto_runtime.memory import handle as module
from mizuoto.mizuoto_runtime.memory.handle import WORTH_MOVING, ModelHandle
from mizuoto.mizuoto_runtime.memory.plan import Seconds
from mizuoto.tests.mizuoto_runtime.memory import zoo
from mizuoto.tests.mizuoto_runtime.memory.stage import Clock, Paced, VirtualQueue
from mizuoto.tests.mizuoto_runtime.memory.zoo import UNIT, Chain, Species, handle_on, resident, simulated, streaming

ROOMY = 64 << 20
NUM_UNITS = 8


class Bench:
    """A handle of paced units on a virtual clock; copies take 1 s."""

    def __init__(self, monkeypatch, compute_s, room, kind="sequence", num_units=NUM_UNITS):
        self.clock = Clock()
        network = zoo.built(Species(lambda: Chain([Paced(self.clock, compute_s) for _ in range(num_units)]), {}))
        self.expected = network(zoo.example())
        devices, _ = simulated(ROOMY)
        monkeypatch.setattr(devices, "copies_overlap", lambda device: True)
        monkeypatch.setattr(module, "queue_for", lambda *_: VirtualQueue(self.clock, 1.0))
        self.handle = handle_on(devices, network, kind=kind)
        self.budget = self.handle.layout.fixed_bytes + room * UNIT
        self.handle.place(self.budget)

    def run(self, passes=3, gap_s=0.0):
        """Seconds of the last pass of a phase; every output is right."""
        with self.handle.held(), torch.inference_mode():
            for _ in range(passes):
                began = self.clock.now
                assert torch.equal(self.handle.module(zoo.example()), self.expected)
                self.clock.now += gap_s
        return self.clock.now - began

    def place(self):
        """Again, within the same bytes."""
        return self.handle.place(self.budget - self.handle.loaded_bytes)

    @property
    def num_slots(self):
        return len(self.handle._streamer.ring.slots)


@pytest.mark.parametrize("kind", ["sequence", "oneshot"])
@pytest.mark.parametrize("gap_s", [0.0, 4.0])
def test_what_was_measured_reaches_the_planner(monkeypatch, kind, gap_s):
    asked, plan_units = [], module.plan_units

    def noting(*args, **kwargs):
        asked.append(kwargs["seconds"])
        return plan_units(*args, **kwargs)

    monkeypatch.setattr(module, "plan_units", noting)
    bench = Bench(monkeypatch, 0.5, room=4, kind=kind)
    bench.run(6, gap_s)
    bench.place()
    assert asked[0] is None
    found = asked[1]
    assert (found.compute_s, found.copy_s) == (pytest.approx(NUM_UNITS * 0.5), pytest.approx(NUM_UNITS))
    assert found.gap_s == pytest.approx(gap_s, abs=1e-6)


def test_another_number_of_slots_where_the_clock_says_it_is_faster(monkeypatch):
    bench = Bench(monkeypatch, 0.5, room=4)
    before, held = bench.run(), bench.handle.loaded_bytes
    assert (bench.num_slots, len(resident(bench.handle))) == (1, 3)
    bench.place()
    assert (bench.num_slots, len(resident(bench.handle))) == (2, 2)
    assert bench.handle.loaded_bytes <= held
    assert bench.run(6) < 0.85 * before
    streamer = bench.handle._streamer
    for _ in range(3):
        assert bench.place() == 0
        bench.run()
    assert bench.handle._streamer is streamer  # settled


def test_a_second_slot_is_given_up_where_it_hides_nothing(monkeypatch):
    bench = Bench(monkeypatch, 0.05, room=4, kind="oneshot")
    before = bench.run()
    assert bench.num_slots == 2
    bench.place()
    assert (bench.num_slots, len(resident(bench.handle))) == (1, 3)
    assert bench.run(6) < before


def test_the_gap_moves_what_streams_to_both_ends(monkeypatch):
    bench = Bench(monkeypatch, 0.4, room=6)
    before, names = bench.run(6, gap_s=5.0), streaming(bench.handle)
    bench.handle.release(2 * UNIT)
    bench.place()
    assert bench.run(6, gap_s=5.0) <= before
    assert streaming(bench.handle) != names
    assert (streaming(bench.handle)[0], streaming(bench.handle)[-1]) == ("layers.0", f"layers.{NUM_UNITS - 1}")


def test_a_few_percent_are_not_worth_moving(monkeypatch):
    bench = Bench(monkeypatch, 0.5, room=4)
    streamer = bench.handle._streamer
    seconds = iter([0.99, 1.0, 1 - WORTH_MOVING / 2, 1.0, 1 - WORTH_MOVING, 1.0])
    monkeypatch.setattr(module, "pass_s", lambda *_: next(seconds))
    bench.run()
    for _ in range(2):
        assert bench.place() == 0
        assert bench.handle._streamer is streamer
    bench.place()
    assert bench.handle._streamer is not streamer


def test_nothing_is_rearranged_while_a_phase_uses_it(monkeypatch):
    bench = Bench(monkeypatch, 0.5, room=4)
    bench.run()
    streamer = bench.handle._streamer
    with bench.handle.held():
        assert bench.place() == bench.handle.place(8 * UNIT) == 0
        assert bench.handle._streamer is streamer
    bench.place()
    assert bench.handle._streamer is not streamer


def test_copies_that_do_not_overlap_are_measured_too():
    handle = handle_on(simulated(ROOMY)[0], zoo.chain(3))
    handle.place(handle.minimum_bytes)
    with handle.held(), torch.inference_mode():
        for _ in range(2):
            handle.module(zoo.example())
    found = handle._meter.seconds()
    assert isinstance(found, Seconds)
    assert found.copy_s > 0
    assert found.compute_s > 0


def count(calls, name):
    return lambda: calls.append(name)


def test_checks_of_holders_that_overlap_are_all_called():
    handle, calls = handle_on(simulated(ROOMY)[0], zoo.chain(2)), []
    handle.place(handle.minimum_bytes)
    first, second = handle.held(count(calls, "first")), handle.held(count(calls, "second"))

    def called():
        calls.clear()
        with torch.inference_mode():
            handle.module(zoo.example())
        return sorted(set(calls))

    entered, done = threading.Event(), threading.Event()

    def hold():
        with second:
            entered.set()
            assert done.wait(20)

    thread = threading.Thread(target=hold)
    with first:
        assert called() == ["first"]
        thread.start()
        assert entered.wait(20)
        assert called() == ["first", "second"]
    assert called() == ["second"]  # who came first leaves first
    assert handle.is_busy
    done.set()
    thread.join()
    assert called() == []
    assert not handle.is_busy


def test_many_threads_leave_the_gate_as_it_was():
    handle: ModelHandle = handle_on(simulated(ROOMY)[0], zoo.chain(1))
    before = handle.gate.check

    def hold():
        for _ in range(200):
            with handle.held(lambda: None), handle.held():
                assert handle.is_busy

    threads = [threading.Thread(target=hold) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (handle.is_busy, handle.gate.check) == (False, before)
