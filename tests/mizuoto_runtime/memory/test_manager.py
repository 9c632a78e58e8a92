import gc
import logging

import pytest
import torch
from mizuoto.mizuoto_runtime.device import CPU, DeviceService
from mizuoto.mizuoto_runtime.errors import OutOfDeviceMemory
from mizuoto.mizuoto_runtime.memory.handle import ModelHandle
from mizuoto.mizuoto_runtime.memory.manager import MemoryManager
from mizuoto.mizuoto_runtime.settings import Settings
from mizuoto.mizuoto_runtime.simulate import SimulatedOutOfMemory
from mizuoto.tests.mizuoto_runtime.memory import zoo
from mizuoto.tests.mizuoto_runtime.memory.zoo import UNIT

MB = 1 << 20
GPU = torch.device("cuda", 0)


class CountingDevices(DeviceService):
    """Notes every emptying of the cache."""

    emptied = 0

    def empty_cache(self, device):
        self.emptied += 1


class Bench:
    """A device of so many MB, its manager, and handles made on demand."""

    def __init__(self, megabytes, **settings):
        self.devices = CountingDevices({"cuda:0": int(megabytes * MB)})
        self.manager = MemoryManager(self.devices, Settings(**{"vram_reserve_mb": 0, **settings}))

    def handle(self, num_layers, name=None, last_used=0.0):
        handle = zoo.handle_on(self.devices, zoo.chain(num_layers), name or f"zoo:{num_layers}")
        handle.last_used = last_used
        self.manager.register(handle)
        return handle

    @property
    def used(self):
        return self.devices.simulated[GPU].used_bytes

    def occupy(self, megabytes):
        self.devices.simulated[GPU].allocate(int(megabytes * MB))


def units(handle):
    return len(handle._resident)


def test_places_whole_when_it_fits():  # S110
    bench = Bench(10)
    handle = bench.handle(3)
    bench.manager.place([handle], MB)
    assert handle.is_ready
    assert bench.used == handle.size_bytes
    assert bench.devices.emptied == 0


def test_nothing_happens_when_everything_is_there():  # S151
    bench = Bench(4)
    busy_before, idle = bench.handle(2), bench.handle(1)
    bench.manager.place([busy_before, idle], 0)
    before = bench.used
    bench.manager.place([busy_before], 10 << 10)
    assert (bench.used, bench.devices.emptied) == (before, 0)


def test_idle_handles_yield_unit_by_unit_until_the_shortage_is_met():  # S109, S150
    bench = Bench(6.5)
    idle, wanted = bench.handle(4), bench.handle(3)
    bench.manager.place([idle], 0)
    bench.manager.place([wanted], 0)
    assert wanted.is_ready
    assert units(idle) == 3
    assert bench.devices.emptied == 1


def test_working_memory_and_reserve_count_as_needed():  # S107
    for settings, working, left in (({}, 2 * MB, 1), ({"vram_reserve_mb": 2}, 0, 1), ({}, 0, 3)):
        bench = Bench(6.5, **settings)
        idle, wanted = bench.handle(3), bench.handle(3)
        bench.manager.place([idle], 0)
        bench.manager.place([wanted], working)
        assert wanted.is_ready
        assert units(idle) == left


def test_working_memory_is_made_for_a_handle_that_is_already_there():
    bench = Bench(6.5)
    idle, wanted = bench.handle(3), bench.handle(3)
    bench.manager.place([idle, wanted], 0)
    bench.manager.place([wanted], 2 * MB)
    assert units(wanted) == 3
    assert units(idle) == 1


def test_partly_loaded_ones_yield_first_then_the_least_recently_used():  # S148
    bench = Bench(9.3)
    old, new, partly = (bench.handle(2, name, last_used) for name, last_used in (("old", 1), ("new", 2), ("partly", 3)))
    bench.manager.place([old, new, partly], 0)
    partly.release(UNIT)
    wanted = bench.handle(4)
    bench.manager.place([wanted], 2 * MB)
    assert wanted.is_ready
    assert (partly.loaded_bytes, units(old), units(new)) == (0, 1, 2)


def test_busy_handles_never_yield():  # S149
    bench = Bench(6.3)
    busy, idle, wanted = bench.handle(2, last_used=1), bench.handle(2, last_used=9), bench.handle(3)
    bench.manager.place([busy, idle], 0)
    with busy.held():
        bench.manager.place([wanted], 0)
    assert wanted.is_ready
    assert busy.is_ready
    assert units(idle) == 1


def test_handles_of_the_phase_never_yield_to_each_other():
    bench = Bench(4.5)
    first, second = bench.handle(2), bench.handle(2)
    bench.manager.place([first, second], 0)
    third = bench.handle(2)
    bench.manager.place([first, second, third], 0)  # 6 units in the room of 4: two of them stream
    assert first.is_ready
    assert second.is_ready
    assert third.is_ready
    assert bench.used == sum(handle.loaded_bytes for handle in (first, second, third)) <= 4.5 * MB
    assert bench.used > 4 * MB


def test_handles_of_a_phase_that_cannot_fit_keep_their_minimum():
    bench = Bench(2.5)
    first, second = bench.handle(2), bench.handle(2)
    bench.manager.place([first, second], 0)
    with pytest.raises(SimulatedOutOfMemory):
        bench.manager.place([first, second, bench.handle(2)], 0)
    assert first.is_ready
    assert second.is_ready


def test_the_smaller_handle_of_a_phase_is_whole_first():  # S152
    bench = Bench(5.5)
    large, small = bench.handle(5), bench.handle(2)
    bench.manager.place([large, small], 0)
    assert (small.is_whole, large.is_whole, large.is_ready) == (True, False, True)
    assert units(large) == 2  # and a slot


def test_a_phase_that_needs_more_shrinks_its_own_handle_in_place():
    bench = Bench(6.5)
    handle, hidden = bench.handle(5), zoo.example()
    bench.manager.place([handle], 0)
    assert handle.is_whole
    bench.manager.place([handle], 3 * MB)
    assert (handle.is_ready, handle.is_whole, units(handle)) == (True, False, 2)
    assert bench.used <= 3.5 * MB
    assert torch.equal(handle.module(hidden), zoo.chain(5)(hidden))
    bench.manager.place([handle], 0)
    assert handle.is_whole


def test_a_little_less_room_at_every_phase_rearranges_nothing():
    bench = Bench(4.5)
    handle = bench.handle(6)
    bench.manager.place([handle], 0)
    streamer, placed = handle._streamer, zoo.resident(handle)
    for working in (0, 100 << 10, 50 << 10, 200 << 10):
        bench.manager.place([handle], working)
        assert handle._streamer is streamer
        assert zoo.resident(handle) == placed


def test_high_mode_never_streams_of_itself():
    bench = Bench(2.5, vram_mode="high")
    handle = bench.handle(3)
    with pytest.raises(SimulatedOutOfMemory):
        bench.manager.place([handle], 0)
    assert handle.num_hooks == 0


@pytest.mark.parametrize("mode", ["high", "shared"])
def test_modes_that_never_split_let_them_leave_whole(mode):  # S150
    bench = Bench(6.5, vram_mode=mode)
    idle, wanted = bench.handle(4), bench.handle(3)
    bench.manager.place([idle], 0)
    bench.manager.place([wanted], 0)
    assert wanted.is_ready
    assert idle.loaded_bytes == 0


def test_only_as_many_leave_as_must():
    bench = Bench(6.5, vram_mode="high")
    old, new, wanted = bench.handle(2, last_used=1), bench.handle(2, last_used=2), bench.handle(4)
    bench.manager.place([new, old], 0)
    bench.manager.place([wanted], 0)
    assert (old.loaded_bytes, new.is_ready, wanted.is_ready) == (0, True, True)


def test_the_limit_is_what_this_process_may_hold():  # S108
    bench = Bench(20, vram_limit_mb=5)
    idle, wanted = bench.handle(3), bench.handle(3)
    bench.manager.place([idle], 0)
    bench.manager.place([wanted], 0)
    assert bench.used <= 5 * MB
    assert (wanted.is_ready, units(idle)) == (True, 1)


def test_the_limit_does_not_count_other_programs():
    bench = Bench(20, vram_limit_mb=7)
    held = bench.devices.held_bytes
    bench.devices.held_bytes = lambda device: held(device) - 10 * MB
    bench.occupy(10)  # somebody else's
    idle, wanted = bench.handle(3), bench.handle(3)
    bench.manager.place([idle], 0)
    bench.manager.place([wanted], 0)
    assert wanted.is_ready
    assert idle.is_ready


def test_estimates_never_refuse_and_warn_once(caplog):  # S111
    bench = Bench(10)
    handle = bench.handle(3, "zoo/big:part")
    with caplog.at_level(logging.WARNING, "mizuoto.memory"):
        for _ in range(3):
            bench.manager.place([handle], 100 * MB)
    assert handle.is_ready
    (record,) = caplog.records
    assert "zoo/big:part: 1 MB of weights and 105 MB of working memory may not fit on cuda:0" in record.getMessage()


def test_what_really_does_not_fit_fails_in_the_allocation():
    bench = Bench(0.9)
    handle = bench.handle(3)
    with pytest.raises(SimulatedOutOfMemory):
        bench.manager.place([handle], 0)  # not even one slot
    assert bench.used == handle.loaded_bytes == handle.layout.fixed_bytes
    assert not handle.is_ready


@pytest.mark.parametrize("mode", ["auto", "high", "shared", "low", "none"])
def test_every_mode_places_what_fits(mode):
    bench = Bench(20, vram_mode=mode)
    handles = [bench.handle(3), bench.handle(1)]
    bench.manager.place(handles, MB)
    assert all(handle.is_ready for handle in handles)


def test_make_room_evicts_everything_idle_but_the_kept():  # S155
    bench = Bench(20)
    kept, busy, idle = bench.handle(1), bench.handle(2), bench.handle(3)
    bench.manager.place([kept, busy, idle], 0)
    with busy.held():
        bench.manager.make_room(GPU, keep=[kept])
    assert (kept.is_ready, busy.is_ready, idle.loaded_bytes) == (True, True, 0)
    assert bench.devices.emptied == 1


def test_release():
    bench = Bench(20)
    handle = bench.handle(2)
    bench.manager.place([handle], 0)
    with handle.held():
        assert bench.manager.release(handle) == 0
    assert bench.manager.release(handle) == handle.size_bytes
    assert bench.manager.release(handle) == 0
    assert (bench.used, bench.devices.emptied) == (0, 1)


def test_devices_are_independent():
    devices = DeviceService({"cuda:0": 3 * MB, "cuda:1": 9 * MB})
    manager = MemoryManager(devices, Settings(vram_reserve_mb=0))
    idle = ModelHandle("zoo:idle", zoo.chain(2), GPU, devices)
    wanted = ModelHandle("zoo:wanted", zoo.chain(4), torch.device("cuda", 1), devices)
    for handle in (idle, wanted):
        manager.register(handle)
    manager.place([idle], 0)
    manager.place([wanted], 0)
    assert idle.is_ready
    manager.make_room(torch.device("cuda", 1), keep=[])
    assert (idle.is_ready, wanted.loaded_bytes) == (True, 0)


def test_the_cpu_needs_no_placing():  # S105
    devices = DeviceService()
    manager = MemoryManager(devices, Settings())
    handle = ModelHandle("zoo:cpu", zoo.chain(1), CPU, devices)
    manager.register(handle)
    manager.place([handle], 1 << 60)
    assert manager.release(handle) == 0


def test_handles_are_known_weakly():
    bench = Bench(20)
    handle = bench.handle(3)
    bench.manager.place([handle], 0)
    del handle
    gc.collect()
    assert not list(bench.manager._handles)
    assert bench.used == 0


def test_the_final_error_is_plain():
    error = Bench(1).manager.out_of_memory("no room", {"reason": "out_of_memory"})
    assert type(error) is OutOfDeviceMemory
    assert (str(error), error.detail) == ("no room", {"reason": "out_of_memory"})
