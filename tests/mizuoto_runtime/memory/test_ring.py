from contextlib import contextmanager

import pytest
import torch
from mizuoto.mizuoto_runtime.device import CPU, DeviceService
from mizuoto.mizuoto_runtime.memory import ring as module
from mizuoto.mizuoto_runtime.memory.pack import Pack
from mizuoto.mizuoto_runtime.memory.ring import Ring, Slot, StreamQueue, SyncQueue, queue_for
from mizuoto.mizuoto_runtime.memory.units import layout_of
from mizuoto.mizuoto_runtime.simulate import SimulatedOutOfMemory
from mizuoto.tests.mizuoto_runtime.memory import zoo

CUDA = torch.device("cuda", 0)


def packs(number):
    return [Pack(unit, False) for unit in layout_of(zoo.chain(number)).units]


def test_slots_are_allocated_once_and_counted():
    devices, device = zoo.simulated(1000)
    ring = Ring(3, 300, device, devices)
    assert [slot.buffer.nbytes for slot in ring.slots] == [300] * 3
    assert ring.num_bytes == devices.simulated[device].used_bytes == 900
    ring.close()
    assert (ring.num_bytes, devices.simulated[device].used_bytes) == (0, 0)
    ring.close()
    assert devices.simulated[device].used_bytes == 0


@pytest.mark.parametrize("total", [0, 299, 300, 899])
def test_running_out_of_memory_leaves_nothing_behind(total):
    devices, device = zoo.simulated(total)
    with pytest.raises(SimulatedOutOfMemory):
        Ring(3, 300, device, devices)
    assert devices.simulated[device].used_bytes == 0


def test_the_slot_filled_longest_ago_is_taken_and_none_that_is_used():
    devices, device = zoo.simulated(1000)
    ring, units = Ring(3, 10, device, devices), packs(3)
    slots = list(ring.slots)
    for slot, pack in zip(slots, units, strict=True):
        assert ring.free_slot() is slot
        slot.pack = pack
        ring.filled(slot)
    assert ring.free_slot() is slots[0]
    slots[0].is_used = True
    assert ring.free_slot() is slots[1]
    ring.filled(slots[1])
    assert ring.free_slot() is slots[2]
    slots[1].is_used = slots[2].is_used = True
    assert ring.free_slot() is None
    assert [ring.holding(pack) for pack in units] == slots
    assert ring.holding(packs(1)[0]) is None


def test_a_synchronous_queue_copies_on_the_spot():  # S130
    queue, slot = SyncQueue(), Slot(torch.zeros(10, dtype=torch.uint8))
    queue.issue(slot, torch.arange(6, dtype=torch.uint8))
    assert slot.buffer.tolist() == [0, 1, 2, 3, 4, 5, 0, 0, 0, 0]
    queue.wait(slot)
    queue.release(slot)
    assert not queue.overlaps


class Driver:
    """Plays `torch.cuda`'s streams and events and logs what happens in which order."""

    def __init__(self, monkeypatch):
        self.log = []
        self.on = ["compute"]
        driver = self

        class Stream:
            def __init__(self, device, name="copy"):
                self.device, self.name = device, name

            def wait_event(self, event):
                driver.log.append(f"{self.name} waits for {event.name}")

        class Event:
            made = 0

            def __init__(self, enable_timing=False):
                self.name = "mark" if enable_timing else ("ready", "free")[Event.made % 2]
                Event.made += not enable_timing
                self.is_reached = False

            def query(self):
                return self.is_reached

            def elapsed_time(self, later):
                return 2500.0

            def record(self, stream):
                driver.log.append(f"{self.name} recorded on {stream.name}")

        @contextmanager
        def stream(entered):
            driver.on.append(entered.name)
            yield
            driver.on.pop()

        monkeypatch.setattr(torch.cuda, "Stream", Stream)
        monkeypatch.setattr(torch.cuda, "Event", Event)
        monkeypatch.setattr(torch.cuda, "stream", stream)
        monkeypatch.setattr(torch.cuda, "current_stream", lambda device: Stream(device, driver.on[-1]))


class LoggedBuffer:
    """Only what a queue does with a buffer: `record_stream`, for one, it has not."""

    def __init__(self, driver):
        self.driver = driver

    def __getitem__(self, part):
        self.part = part
        return self

    def copy_(self, source, non_blocking):
        assert self.part == slice(None, source.shape[0])
        mode = "asynchronous" if non_blocking else "blocking"
        self.driver.log.append(f"{mode} copy of {source.shape[0]} on {self.driver.on[-1]}")


@pytest.fixture
def driver(monkeypatch):
    return Driver(monkeypatch)


def taken(driver):
    log, driver.log = driver.log, []
    return log


def test_streams_order_copies_and_computation(driver):  # S125
    queue, slot = StreamQueue(CUDA), Slot(LoggedBuffer(driver))
    assert queue.overlaps
    queue.issue(slot, torch.empty(7))
    assert taken(driver) == [
        "free recorded on compute",  # the slot's memory may still be read by what had it before
        "copy waits for free",
        "asynchronous copy of 7 on copy",
        "ready recorded on copy",
    ]
    queue.wait(slot)
    assert taken(driver) == ["compute waits for ready"]
    queue.release(slot)
    assert taken(driver) == ["free recorded on compute"]
    queue.issue(slot, torch.empty(5))
    assert taken(driver) == ["copy waits for free", "asynchronous copy of 5 on copy", "ready recorded on copy"]


def test_measured_copies_have_marks_on_their_stream_and_nobody_waits(driver):
    queue, slot = StreamQueue(CUDA), Slot(LoggedBuffer(driver))
    queue.issue(slot, torch.empty(1))
    queue.copies, queue_log = [], taken(driver)
    assert not any("mark" in line for line in queue_log)
    queue.issue(slot, torch.empty(7))
    assert taken(driver) == [
        "copy waits for free",
        "mark recorded on copy",  # after the wait, which is no copying
        "asynchronous copy of 7 on copy",
        "ready recorded on copy",
        "mark recorded on copy",
    ]
    [(began, ended, num_bytes)] = queue.copies
    assert num_bytes == 7 * 4
    assert queue.seconds(began, ended) is None
    ended.is_reached = True
    assert queue.seconds(began, ended) == 2.5
    queue.mark()
    assert taken(driver) == ["mark recorded on compute"]


def test_a_synchronous_queue_has_the_clock_on_the_wall(monkeypatch):
    times = iter([1.0, 1.5, 4.0])
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(times))
    queue, slot = SyncQueue(), Slot(torch.zeros(10, dtype=torch.uint8))
    queue.issue(slot, torch.ones(6, dtype=torch.uint8))
    queue.copies = []
    queue.issue(slot, torch.ones(6, dtype=torch.uint8))
    assert queue.copies == [(1.0, 1.5, 6)]
    assert queue.seconds(queue.copies[0][1], queue.mark()) == 2.5


def test_a_slot_with_what_is_coming_is_not_free():
    devices, device = zoo.simulated(1000)
    ring, (first, second) = Ring(2, 10, device, devices), packs(2)
    for pack in (first, second):
        slot = ring.free_slot()
        slot.pack = pack
        ring.filled(slot)
    assert ring.free_slot([first]) is ring.holding(second)
    assert ring.free_slot([first, second]) is None


def test_each_slot_has_events_of_its_own(driver):
    queue, slots = StreamQueue(CUDA), [Slot(LoggedBuffer(driver)) for _ in range(2)]
    for slot in slots:
        queue.issue(slot, torch.empty(1))
    assert len({id(event) for slot in slots for event in (slot.ready, slot.free)}) == 4
    events = [(slot.ready, slot.free) for slot in slots]
    for slot in slots:
        queue.issue(slot, torch.empty(1))
    assert [(slot.ready, slot.free) for slot in slots] == events  # made once


def test_the_queue_of_each_device(driver):
    assert isinstance(queue_for(DeviceService(), CUDA), StreamQueue)
    for devices, device in (
        (DeviceService({"cuda:0": 1}), CUDA),
        (DeviceService(), CPU),
        (DeviceService(), torch.device("mps")),
        (DeviceService(), torch.device("xpu", 0)),
    ):
        assert isinstance(queue_for(devices, device), module.SyncQueue)
