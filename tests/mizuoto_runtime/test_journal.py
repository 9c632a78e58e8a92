import json
import threading
from types import SimpleNamespace

import pytest
import torch
from mizuoto.mizuoto_runtime.device import DeviceService
from mizuoto.mizuoto_runtime.errors import Cancelled, OutOfDeviceMemory
from mizuoto.mizuoto_runtime.journal import MAX_ENTRIES, MAX_USES, Journal
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.mizuoto_runtime.settings import Settings
from mizuoto.tests.mizuoto_runtime.memory import zoo

MB = 1 << 20
GPU = torch.device("cuda", 0)
TALKER, DECODER = [SimpleNamespace(name="toy:talker")], [SimpleNamespace(name="toy:decoder")]


class Clock:
    """Moves on when it is told to."""

    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def journal(clock):
    return Journal("run", clock=clock)


def write(journal, handles, begin, ready, end, streamed_bytes=0, outcome="", name="talker"):
    entry = journal.begin(name, handles, begin)
    journal.ready(entry, ready)
    journal.end(entry, end, streamed_bytes, outcome)


def test_times_are_seconds_since_the_run_began(journal, clock):
    write(journal, TALKER, 101, 101.5, 104, streamed_bytes=7)
    clock.now = 110
    data = json.loads(json.dumps(journal.as_data()))
    assert (data["run"], data["running"], data["ago_s"], data["seconds"]) == ("run", False, 10, 4)
    assert data["phases"] == [
        {
            "name": "talker",
            "components": ["toy:talker"],
            "start_s": 1,
            "end_s": 4,
            "place_s": 0.5,
            "busy_s": 2.5,
            "streamed_bytes": 7,
            "outcome": "",
            "count": 1,
        }
    ]
    assert (data["streamed_bytes"], data["oom"], data["devices"]) == (7, 0, [])


def test_a_phase_under_way_has_no_end(journal, clock):
    entry = journal.begin("talker", TALKER, 100)
    clock.now = 103
    data = journal.as_data()
    (phase,) = data["phases"]
    assert (data["running"], data["seconds"]) == (True, 3)
    assert (phase["end_s"], phase["place_s"], phase["busy_s"]) == (None, 3, 0)
    journal.ready(entry, 102)
    (phase,) = journal.as_data()["phases"]
    assert (phase["end_s"], phase["place_s"], phase["busy_s"]) == (None, 2, 1)


def test_a_request_that_computes_nothing_at_the_moment_is_under_way(journal):
    changes = []
    journal.on_change = lambda: changes.append(journal.as_data()["running"])
    with pytest.raises(KeyError), journal.request():
        write(journal, TALKER, 100, 101, 102)
        assert journal.as_data()["running"]
        raise KeyError
    assert changes == [True, False]  # the phase was ready, the request ended


def test_a_long_run_stays_small_and_whole(journal):
    phases = 20 * MAX_ENTRIES
    for index in range(phases):
        handles = (TALKER, DECODER)[index % 2]
        write(journal, handles, 100 + index, 100.25 + index, 101 + index, 2, name=handles[0].name)
        journal.used(GPU, 100.25 + index, index, 101 + index, index + 10)
    data = journal.as_data()
    assert len(data["phases"]) <= MAX_ENTRIES
    assert {phase["components"][0] for phase in data["phases"]} == {"toy:talker", "toy:decoder"}
    assert (data["phases"][0]["start_s"], data["phases"][-1]["end_s"]) == (0, phases)
    assert sum(phase["count"] for phase in data["phases"]) == phases
    assert sum(phase["streamed_bytes"] for phase in data["phases"]) == data["streamed_bytes"] == 2 * phases
    assert sum(phase["busy_s"] for phase in data["phases"]) == 0.75 * phases
    (device,) = data["devices"]
    assert device["name"] == "cuda:0"
    assert len(device["samples"]) <= 2 * MAX_USES
    assert max(num_bytes for _, num_bytes in device["samples"]) == phases + 9
    assert len(json.dumps(data)) < 100_000


def test_retries_are_never_hidden_in_others(journal):
    for index in range(4 * MAX_ENTRIES):
        write(journal, TALKER, 100 + index, 100 + index, 101 + index, outcome="oom" if index == 7 else "")
    data = journal.as_data()
    assert data["oom"] == 1
    assert [phase["start_s"] for phase in data["phases"] if phase["outcome"] == "oom"] == [7]


def test_hundreds_of_kinds_of_phases_are_no_trouble(journal):
    for index in range(3 * MAX_ENTRIES):
        write(journal, TALKER, 100 + index, 100 + index, 101 + index, name=str(index))
    data = journal.as_data()
    assert len(data["phases"]) <= MAX_ENTRIES
    assert data["phases"][-1]["name"] == str(3 * MAX_ENTRIES - 1)


def test_it_may_be_read_while_it_is_written(journal):
    is_over = threading.Event()

    def read():
        while not is_over.is_set():
            json.dumps(journal.as_data())

    reader = threading.Thread(target=read)
    reader.start()
    for index in range(3 * MAX_ENTRIES):
        write(journal, TALKER, index, index, index)
        journal.used(GPU, index, index, index, index)
    is_over.set()
    reader.join(10)
    assert not reader.is_alive()


class Desk:
    """A simulated device of so many MB with a model of `num_layers` MB on it."""

    def __init__(self, megabytes, num_layers=3):
        self.devices = DeviceService({"cuda:0": int(megabytes * MB)})
        self.runtime = Runtime(Settings(vram_reserve_mb=0), self.devices)
        self.handle = self.runtime.handle("zoo:part", zoo.chain(num_layers), GPU)
        self.ctx = self.runtime.context()

    def phases(self):
        return self.ctx.journal.as_data()["phases"]


def test_phases_write_themselves_down():
    desk = Desk(2.5)
    desk.ctx.run("talker", [desk.handle], lambda: desk.handle.module(zoo.example()), working_bytes=1)
    (phase,) = desk.phases()
    assert (phase["name"], phase["components"], phase["outcome"]) == ("talker", ["zoo:part"], "")
    assert phase["streamed_bytes"] == desk.ctx.journal.streamed_bytes == 2 * MB
    assert 0 <= phase["start_s"] < phase["end_s"]
    samples = desk.ctx.journal.as_data()["devices"][0]["samples"]
    assert [num_bytes for _, num_bytes in samples] == [0, 0, desk.handle.loaded_bytes, desk.handle.loaded_bytes]


def test_a_retry_is_seen():
    desk, tries = Desk(16), []

    def greedy():
        tries.append(1)
        desk.devices.simulated[GPU].allocate((100 if len(tries) == 1 else 0) * MB)

    desk.ctx.run("talker", [desk.handle], greedy)
    assert [phase["outcome"] for phase in desk.phases()] == ["oom", ""]
    assert desk.ctx.journal.num_oom == desk.ctx.report.applied["oom_retries"] == 1


def test_what_ends_otherwise_is_seen():
    desk = Desk(0.25)  # not even placing succeeds
    with pytest.raises(OutOfDeviceMemory):
        desk.ctx.run("talker", [desk.handle], lambda: None)
    desk.devices.simulated[GPU].total_bytes = 16 * MB
    with pytest.raises(Cancelled):
        desk.ctx.run("decoder", [desk.handle], desk.ctx.cancelled.set) or desk.ctx.check_cancel()
    desk.ctx.cancelled.clear()
    with pytest.raises(KeyError), desk.ctx.use("codec", [desk.handle]):
        raise KeyError
    outcomes = [(phase["name"], phase["outcome"]) for phase in desk.phases()]
    assert outcomes == [*[("talker", "oom")] * 3, ("decoder", ""), ("codec", "stopped")]
    assert all(phase["end_s"] is not None for phase in desk.phases())


def test_the_last_run_is_that_of_the_last_phase():
    desk = Desk(16)
    runtime = desk.runtime
    assert runtime.last_run is None
    assert runtime.snapshot()["last_run"] is None
    first, second = runtime.context(run="a"), runtime.context(1, run="a")
    assert first.journal is second.journal
    first.run("talker", [desk.handle], lambda: None)
    second.seeded(2).run("decoder", [desk.handle], lambda: None)
    third = runtime.context(run="b")
    assert runtime.last_run is first.journal  # the third has done nothing yet
    assert [phase["name"] for phase in runtime.snapshot()["last_run"]["phases"]] == ["talker", "decoder"]
    third.run("talker", [desk.handle], lambda: None)
    assert runtime.last_run is third.journal
    assert runtime.context().journal is not runtime.context().journal  # of no run: each is one


def test_changes_are_told():
    told = []
    devices = DeviceService({"cuda:0": 16 * MB})
    runtime = Runtime(Settings(vram_reserve_mb=0), devices, on_change=lambda: told.append(len(told)))
    model = runtime.model(
        "key", "zoo", lambda: SimpleNamespace(handles=(runtime.handle("zoo:part", zoo.chain(1), GPU),))
    )
    _ = model.engine
    assert len(told) == 1, "loaded"
    with runtime.context().use("talker", model.handles):
        assert len(told) == 2, "ready"
        assert runtime.release() == 0
    assert runtime.release() > 0
    assert len(told) == 3, "released"
    assert runtime.release() == 0
    assert len(told) == 3
