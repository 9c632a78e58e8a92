import gc
from contextlib import contextmanager
from weakref import ref

import pytest
import torch
from mizuoto.mizuoto_runtime import residency
from mizuoto.mizuoto_runtime.device import DeviceService
from mizuoto.mizuoto_runtime.errors import InvalidRequest
from mizuoto.mizuoto_runtime.memory.handle import ModelHandle
from mizuoto.mizuoto_runtime.residency import RETRY_S, IdleTimer, Limits, always, relieve, surplus
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.mizuoto_runtime.settings import Settings
from mizuoto.tests.mizuoto_runtime.memory import zoo

MB, GB = 1 << 20, 1 << 30
GPU = torch.device("cuda", 0)
MINUTE = 60.0


class Copies:
    """A component with a host copy of so many bytes."""

    def __init__(self, num_bytes):
        self.num_bytes = num_bytes

    def drop_host_copies(self):
        freed, self.num_bytes = self.num_bytes, 0
        return freed


class Resident:
    def __init__(self, name, last_used, is_busy=False, copies=0):
        self.name, self.last_used, self.is_busy = name, last_used, is_busy
        self.handles = [Copies(copies)]


def names(models):
    return [model.name for model in models]


def test_limits_are_the_users_or_the_hosts():  # M09, S195
    assert Limits.of(Settings(), has_host=True) == Limits(0, 0, frozenset())
    assert Limits.of(Settings(), has_host=False) == Limits(3, 30 * MINUTE, frozenset())
    settings = Settings(max_resident_models=1, unload_after_minutes=5, pinned_models=" hibari, other,")
    for has_host in (True, False):
        assert Limits.of(settings, has_host) == Limits(1, 5 * MINUTE, frozenset({"hibari", "other"}))


@pytest.mark.parametrize("name", ["max_resident_models", "unload_after_minutes"])
def test_out_of_range_names_the_range(name):
    assert getattr(Limits.of(Settings(**{name: 0}), has_host=False), {"m": "max_models", "u": "idle_s"}[name[0]]) == 0
    with pytest.raises(InvalidRequest, match=rf"{name} \(MIZUOTO_{name.upper()}\) is -2; its range is 0 to 1.*, or -1"):
        Settings(**{name: -2})


@pytest.mark.parametrize(
    ("limits", "incoming", "expected"),
    [
        (Limits(0, 0, frozenset()), 1, ""),
        (Limits(4, 0, frozenset()), 0, ""),
        (Limits(4, 0, frozenset()), 1, "b"),
        (Limits(1, 0, frozenset()), 1, "bcd"),  # "a" is busy
        (Limits(1, 0, frozenset("b")), 1, "cd"),
        (Limits(0, 50, frozenset()), 0, "bc"),
        (Limits(0, 50, frozenset("c")), 0, "b"),
        (Limits(3, 80, frozenset()), 1, "bc"),  # one expired, one too many
    ],
)
def test_who_is_too_much(limits, incoming, expected):  # S153
    models = [Resident("c", 30.0), Resident("a", 10.0, is_busy=True), Resident("d", 90.0), Resident("b", 20.0)]
    assert names(surplus(models, limits, 100.0, incoming)) == list(expected)


@pytest.mark.parametrize(
    ("wanted", "copies", "expected"),
    [
        (0, True, ([], [])),
        (1, True, (["b"], [])),
        (6, True, (["b", "c"], [])),
        (9, True, (["b", "c"], ["b"])),
        (99, True, (["b", "c"], ["b", "c"])),
        (1, False, ([], ["b"])),
    ],
)
def test_copies_go_before_models_and_pinned_ones_stay(wanted, copies, expected):  # S147
    models = [Resident("c", 3.0, copies=4), Resident("pinned", 1.0, copies=4), Resident("b", 2.0, copies=4)]
    dropped, freed = [], [0]

    def drop(model):
        dropped.append(model.name)
        freed[0] += 10
        return 10

    def is_short():
        return freed[0] + sum(4 - model.handles[0].num_bytes for model in models) < wanted

    got = relieve(models, Limits(0, 0, frozenset({"pinned"})), is_short, drop, copies)
    without = sorted(model.name for model in models if not model.handles[0].num_bytes)
    assert (without, dropped) == expected
    assert got == 4 * len(expected[0]) + 10 * len(expected[1])


class Machine(DeviceService):
    """Host memory as the test says."""

    free = 64 * GB

    def host_memory(self):
        return self.free, 64 * GB


class Desk:
    """A runtime whose clock and host memory the test moves."""

    def __init__(self, has_host=False, pause=always, **settings):
        self.devices = Machine({"cuda:0": 64 * MB})
        self.now = 0.0
        self.runtime = Runtime(
            Settings(vram_reserve_mb=0, **settings),
            self.devices,
            has_host=has_host,
            pause=pause,
            clock=lambda: self.now,
        )
        self.models = {}

    def load(self, name):
        model = self.runtime.model(name, name, lambda: Engine(self.runtime, name))
        self.models[name] = model
        self.runtime.memory.place(model.engine.handles, 0)
        return model

    @property
    def loaded(self):
        return [name for name, model in self.models.items() if model.is_loaded]


class Engine:
    def __init__(self, runtime, name):
        self.handles = (runtime.handle(f"{name}:part", zoo.chain(1), GPU),)


def test_at_most_so_many_models_are_loaded():
    desk = Desk(max_resident_models=2)
    for name in "abc":
        desk.now += 1
        desk.load(name)
    assert desk.loaded == ["b", "c"]
    desk.now += 1
    assert desk.models["a"].engine.handles  # comes back by itself
    assert desk.loaded == ["a", "c"]
    used = sum(handle.loaded_bytes for model in desk.models.values() for handle in model.handles)
    assert desk.devices.simulated[GPU].used_bytes == used


def test_a_busy_model_stays():
    desk = Desk(max_resident_models=1)
    with desk.runtime.context().use("phase", desk.load("a").handles):
        desk.load("b")
        assert desk.loaded == ["a", "b"]
    desk.runtime.tidy(keep=desk.models["b"])
    assert desk.loaded == ["b"]


def test_what_is_unused_for_long_goes_at_the_next_request():
    desk = Desk()
    desk.load("old")
    desk.now += 29 * MINUTE
    new = desk.load("new")
    desk.now += 1 * MINUTE
    assert desk.runtime.tidy(keep=new) > 0
    assert desk.loaded == ["new"]
    desk.now += 99 * MINUTE
    assert desk.runtime.tidy(keep=new) == 0  # it is about to be used
    assert not desk.runtime._timer  # a command has none


class FakeTimer:
    def __init__(self, seconds, ring):
        self.seconds, self.ring, self.daemon = seconds, ring, False

    def start(self):
        assert self.daemon
        self.waiting.append(self)

    def cancel(self):
        self.waiting.remove(self)


@pytest.fixture
def timers(monkeypatch):
    monkeypatch.setattr(FakeTimer, "waiting", [], raising=False)
    monkeypatch.setattr(residency.threading, "Timer", FakeTimer)
    return FakeTimer.waiting


def test_a_server_unloads_between_requests(timers):
    desk = Desk(has_host=True, unload_after_minutes=10)
    desk.runtime.tidy()
    assert not timers  # nothing is loaded
    first = desk.load("first")
    desk.runtime.tidy(keep=first)
    assert [timer.seconds for timer in timers] == [10 * MINUTE]
    desk.now += 4 * MINUTE
    desk.load("second")
    desk.runtime.tidy()
    assert len(timers) == 1
    desk.now += 6 * MINUTE
    timers.pop().ring()
    assert desk.loaded == ["second"]
    assert [timer.seconds for timer in timers] == [4 * MINUTE]
    desk.runtime.release()
    desk.runtime.tidy()
    assert not timers


def test_the_timer_waits_for_its_pause_and_unloads_inside_it(timers):
    desk, log, quiet = None, [], iter([False, True])

    @contextmanager
    def pause():
        log.append(("before", desk.loaded))
        yield next(quiet)
        log.append(("after", desk.loaded))

    desk = Desk(has_host=True, pause=pause, unload_after_minutes=10)
    desk.load("a")
    desk.runtime.tidy()
    desk.now += 10 * MINUTE
    timers.pop().ring()
    assert log == [("before", ["a"]), ("after", ["a"])]
    assert [timer.seconds for timer in timers] == [RETRY_S]
    timers.pop().ring()
    assert log[2:] == [("before", ["a"]), ("after", [])]
    assert not timers


def test_no_timer_where_the_host_owns_the_models(timers):
    desk = Desk(has_host=True)
    desk.load("a")
    desk.now += 1e6
    desk.runtime.tidy()
    assert desk.loaded == ["a"] and not timers


def test_a_timer_does_not_keep_a_runtime(timers):
    desk = Desk(has_host=True, unload_after_minutes=10)
    desk.load("a")
    desk.runtime.tidy()
    gone = ref(desk.runtime)
    desk.models.clear()
    del desk.runtime
    gc.collect()
    assert gone() is None
    timers.pop().ring()


def test_a_real_timer_rings_once():
    class Tidier:
        def tidy(self):
            """Never within a minute."""

    tidier = Tidier()
    timer = IdleTimer(tidier.tidy)
    timer.arm(MINUTE)
    timer.arm(MINUTE)
    assert timer.is_armed
    timer.stop()
    assert not timer.is_armed
    timer.stop()


def test_models_go_when_host_memory_is_short():
    desk = Desk(host_copies="on", ram_reserve_mb=1024, max_resident_models=0)
    for name in "ab":
        desk.now += 1
        desk.load(name)
    desk.devices.free = GB
    assert desk.runtime.tidy() == 0
    desk.devices.free = GB - 1
    assert desk.runtime.tidy(keep=desk.models["b"]) > 0
    assert desk.loaded == ["b"]


def test_host_copies_go_first(monkeypatch):
    desk = Desk(ram_reserve_mb=1024)
    desk.load("a")
    asked = []

    def drop(handle):
        asked.append(handle.name)
        desk.devices.free = 2 * GB
        return 7

    monkeypatch.setattr(ModelHandle, "drop_host_copies", drop, raising=False)
    desk.devices.free = GB // 2
    assert desk.runtime.tidy() == 7
    assert (asked, desk.loaded) == (["a:part"], ["a"])


@pytest.mark.parametrize(
    ("free_gb", "kept_gb", "is_short"), [(6.5, 64, False), (6.3, 64, True), (6.3, 5, False), (0, 64, False)]
)
def test_the_usual_reserve_is_a_tenth_unless_the_host_keeps_less(monkeypatch, free_gb, kept_gb, is_short):  # S147, K8
    desk = Desk()
    desk.devices.free = int(free_gb * GB)  # 0: the system does not tell
    monkeypatch.setattr(desk.runtime.memory, "kept_ram_bytes", lambda wanted: min(wanted, kept_gb * GB))
    assert desk.runtime._is_ram_short() == is_short


def test_a_model_tells_what_it_has_in_host_memory():  # K8
    desk = Desk()
    model = desk.load("a")
    assert model.get_ram_usage() == sum(handle.host_bytes for handle in model.handles) > 0
    model.drop()
    assert model.get_ram_usage() == 0
