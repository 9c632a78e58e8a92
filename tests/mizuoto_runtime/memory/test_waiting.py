"""Requests of several threads on one small device (S112)."""

import contextlib
import threading
import time

import pytest
import torch
from mizuoto.mizuoto_runtime.device import DeviceService
from mizuoto.mizuoto_runtime.memory.manager import MemoryManager
from mizuoto.mizuoto_runtime.memory.waiting import CHECK_S, Turns
from mizuoto.mizuoto_runtime.settings import Settings
from mizuoto.mizuoto_runtime.simulate import SimulatedOutOfMemory
from mizuoto.tests.mizuoto_runtime.memory import zoo

MB = 1 << 20
GPU = torch.device("cuda", 0)
SOON = 20.0


def nothing():
    """A request that nobody cancels."""


class Bench:
    """A device with room for a busy handle and not much else."""

    def __init__(self, megabytes=6.0, max_wait_s=SOON, **settings):
        self.devices = DeviceService({"cuda:0": int(megabytes * MB)})
        turns = Turns(max_wait_s)
        self.manager = MemoryManager(self.devices, Settings(**{"vram_reserve_mb": 0, **settings}), turns)
        self.waiting = lambda: turns._waiting

    def handle(self, num_layers):
        handle = zoo.handle_on(self.devices, zoo.chain(num_layers), f"zoo:{num_layers}")
        self.manager.register(handle)
        return handle

    def until_waiting(self):
        deadline = time.monotonic() + SOON
        while not self.waiting():
            assert time.monotonic() < deadline
            time.sleep(0.001)


class Request(threading.Thread):
    """Enters a phase in a thread of its own, and leaves it when told."""

    def __init__(self, bench, handle, working_bytes=0, check=nothing):
        super().__init__(daemon=True)
        self.arguments = bench.manager, handle, working_bytes, check
        self.is_inside, self.may_leave = threading.Event(), threading.Event()
        self.error = None
        self.start()

    def run(self):
        manager, handle, working_bytes, check = self.arguments
        try:
            leave = manager.enter([handle], working_bytes, check)
            self.is_inside.set()
            self.may_leave.wait(SOON)
            leave()
        except Exception as error:  # noqa: BLE001 - the test's own thread looks at it
            self.error = error

    def finish(self):
        self.may_leave.set()
        self.join(SOON)
        assert not self.is_alive()


@pytest.mark.parametrize("mode", ["auto", "high"])
def test_waits_for_what_another_request_holds_and_then_runs(mode):
    bench = Bench(vram_mode=mode)
    first, second = bench.handle(5), bench.handle(5)
    leave = bench.manager.enter([first], 0, nothing)
    other = Request(bench, second, 3 * MB if mode == "auto" else 0)
    bench.until_waiting()
    assert not other.is_inside.is_set() and not second.loaded_bytes
    leave()
    assert other.is_inside.wait(SOON)
    assert second.is_ready and first.loaded_bytes < first.size_bytes
    other.finish()
    assert other.error is None


def test_what_fits_beside_the_other_does_not_wait():
    bench = Bench(megabytes=20)
    leave = bench.manager.enter([bench.handle(5)], 0, nothing)
    other = Request(bench, bench.handle(5))
    assert other.is_inside.wait(SOON)
    leave()
    other.finish()


def test_what_streams_beside_the_other_does_not_wait():
    bench = Bench(megabytes=7.5)
    leave = bench.manager.enter([bench.handle(5)], 0, nothing)
    small = bench.handle(6)
    other = Request(bench, small)
    assert other.is_inside.wait(SOON)
    assert small.is_ready and not small.is_whole
    leave()
    other.finish()


def test_a_waiting_request_can_be_cancelled():
    bench, cancelled = Bench(), threading.Event()

    def check():
        if cancelled.is_set():
            raise KeyError("cancelled")

    leave = bench.manager.enter([bench.handle(5)], 0, nothing)
    other = Request(bench, bench.handle(5), 3 * MB, check)
    bench.until_waiting()
    start = time.monotonic()
    cancelled.set()
    other.join(SOON)
    assert isinstance(other.error, KeyError)
    assert time.monotonic() - start < CHECK_S + 2  # of which the machine may take the most
    assert not bench.waiting()
    leave()


def test_after_the_longest_wait_it_tries():
    bench = Bench(max_wait_s=0.2, vram_mode="high")
    leave = bench.manager.enter([bench.handle(5)], 0, nothing)
    other = Request(bench, bench.handle(5))
    other.join(SOON)
    assert isinstance(other.error, SimulatedOutOfMemory)
    leave()


def test_the_limit_is_ten_minutes_on_the_clock():
    now, asked = [0.0], []
    turns = Turns(clock=lambda: now[0])
    _, left = turns.enter(lambda: True, nothing, lambda: "first")

    def check():
        asked.append(now[0])
        now[0] += 199

    other = threading.Thread(target=lambda: turns.enter(lambda: True, check, lambda: asked.append("in")), daemon=True)
    other.start()
    other.join(SOON)
    assert asked == [0, 199, 398, 597, "in"]
    left()


def test_a_phase_inside_another_never_waits():
    bench = Bench(megabytes=4, max_wait_s=1e9)
    outer, inner = bench.handle(3), bench.handle(3)
    blocker = Request(bench, bench.handle(1))
    assert blocker.is_inside.wait(SOON)
    leave_outer = bench.manager.enter([outer], 0, nothing)
    with contextlib.suppress(SimulatedOutOfMemory):
        bench.manager.enter([inner], 3 * MB, nothing)()  # would wait for the blocker for ever
    leave_outer()
    blocker.finish()


def test_nobody_takes_what_was_placed_before_it_is_held():
    bench = Bench(megabytes=4.5)
    handles = [bench.handle(3), bench.handle(3)]
    errors = []

    def work(handle):
        try:
            for _ in range(100):
                leave = bench.manager.enter([handle], 0, nothing)
                if not handle.is_ready:
                    errors.append("not there")
                leave()
        except Exception as error:  # noqa: BLE001 - the test's own thread looks at it
            errors.append(error)

    threads = [threading.Thread(target=work, args=(handle,), daemon=True) for handle in handles]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors and not any(thread.is_alive() for thread in threads)
    assert bench.devices.simulated[GPU].used_bytes == sum(handle.loaded_bytes for handle in handles)


def test_a_phase_that_fails_to_begin_leaves_no_trace():
    turns = Turns()
    with pytest.raises(KeyError):
        turns.enter(lambda: False, nothing, lambda: {}["missing"])
    assert not turns._phases
