import gc
import json
import logging
from weakref import ref

import pytest
import torch
from mizuoto.mizuoto_runtime.context import MAX_SEED, RequestContext
from mizuoto.mizuoto_runtime.device import CPU, DeviceService
from mizuoto.mizuoto_runtime.errors import Cancelled, InvalidRequest, OperationTimeout, OutOfDeviceMemory
from mizuoto.mizuoto_runtime.memory.calibrate import Calibration
from mizuoto.mizuoto_runtime.memory.handle import ModelHandle
from mizuoto.mizuoto_runtime.memory.manager import MemoryManager
from mizuoto.mizuoto_runtime.settings import Settings
from mizuoto.tests.mizuoto_runtime.memory import zoo

MB = 1 << 20
GPU = torch.device("cuda", 0)


class Desk:
    """A simulated device of so many MB, its manager and a request on it."""

    def __init__(self, megabytes=16, seed=7, hooks=None, **settings):
        self.devices = DeviceService({"cuda:0": int(megabytes * MB)})
        self.card = self.devices.simulated[GPU]
        self.settings = Settings(**{"vram_reserve_mb": 0, **settings})
        self.memory = MemoryManager(self.devices, self.settings)
        self.ctx = RequestContext(self.memory, self.devices, self.settings, Calibration(), seed, **(hooks or {}))

    def handle(self, num_layers, name="zoo:part"):
        handle = zoo.handle_on(self.devices, zoo.chain(num_layers), name)
        self.memory.register(handle)
        return handle

    def borrow(self, megabytes):
        """Working memory, as an activation would take it, given back at once."""
        self.card.allocate(int(megabytes * MB))
        self.card.free(int(megabytes * MB))


@pytest.fixture
def desk():
    return Desk()


@pytest.mark.parametrize("seed", [0, 1, MAX_SEED])
def test_seeds_in_range(seed):
    ctx = Desk(seed=seed).ctx
    assert ctx.seed == ctx.report.seed == seed
    assert ctx.generator_for(CPU).initial_seed() == seed


@pytest.mark.parametrize("seed", [-1, MAX_SEED + 1])
def test_seeds_out_of_range(seed):
    with pytest.raises(InvalidRequest, match=rf"Seed {seed} is out of range; use 0 to {MAX_SEED}"):
        Desk(seed=seed)


@pytest.mark.parametrize("seed", [0, 42, MAX_SEED])
def test_draws_equal_torchs_own_after_manual_seed(seed):  # S053
    generator = Desk(seed=seed).ctx.generator_for(CPU)
    ours = [torch.randn(37, generator=generator), torch.rand(5, generator=generator)]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)  # noqa: TID251 - the sequence to be equalled
        theirs = [torch.randn(37), torch.rand(5)]
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_one_generator_a_device(desk):
    assert desk.ctx.generator_for(CPU) is desk.ctx.generator_for(CPU)
    assert desk.ctx.generator_for(GPU) is desk.ctx.generator_for(CPU)  # a simulated device draws on the CPU


def test_the_global_generators_are_left_alone(desk):  # S052
    before = torch.get_rng_state()
    torch.rand(4, generator=desk.ctx.generator_for(CPU))
    desk.ctx.rng.random()
    assert torch.equal(torch.get_rng_state(), before)


def test_a_seeded_twin_shares_all_but_the_draws(desk):
    twin = desk.ctx.seeded(8)
    assert (twin.seed, desk.ctx.seed, desk.ctx.report.seed) == (8, 7, 7)
    assert twin.report is desk.ctx.report
    assert twin.generator_for(CPU) is not desk.ctx.generator_for(CPU)
    assert desk.ctx.seeded(8).rng.random() == twin.rng.random()
    desk.ctx.cancelled.set()
    with pytest.raises(Cancelled):
        twin.check_cancel()
    with pytest.raises(InvalidRequest):
        desk.ctx.seeded(-1)


def test_cancel_and_timeout():
    desk = Desk(hooks={"timeout_s": 3600})
    desk.ctx.check_cancel()
    with pytest.raises(OperationTimeout, match="raise the limit or shorten the text"):
        Desk(hooks={"timeout_s": 0}).ctx.check_cancel()
    desk.ctx.cancelled.set()
    with pytest.raises(Cancelled, match="cancelled"):
        desk.ctx.check_cancel()


class HostInterruptError(Exception):
    """What a host raises to stop the running prompt."""


def test_the_hosts_interruption_passes_through():
    def interrupt():
        raise HostInterruptError

    desk = Desk(hooks={"on_check": interrupt})
    handle = desk.handle(1)
    calls = []
    with pytest.raises(HostInterruptError):
        desk.ctx.run("talker", [handle], lambda: calls.append(1))
    with pytest.raises(HostInterruptError), desk.ctx.use("talker", [handle]):
        calls.append(2)
    assert calls == []
    assert handle.loaded_bytes == 0


def test_progress_reaches_the_host():
    seen = []
    Desk(hooks={"on_progress": lambda *given: seen.append(given)}).ctx.progress(0.5, "talker")
    assert seen == [(0.5, "talker")]


def test_use_places_holds_and_reports(desk):  # S101
    handle, other = desk.handle(2, "zoo:used"), desk.handle(1, "zoo:other")
    with desk.ctx.use("talker", [handle], MB):
        assert handle.is_ready
        assert handle.is_busy
        assert not torch.is_inference_mode_enabled()  # it would reach whoever takes what the block yields
        handle.module(zoo.example())
    assert not handle.is_busy
    assert other.loaded_bytes == 0  # S103
    assert not any(parameter.is_inference() for parameter in handle.module.parameters())
    assert set(desk.ctx.report.timings_ms) == {"place", "talker"}
    assert desk.ctx.report.memory["zoo:used"]["loaded_mb"] == desk.ctx.report.memory["zoo:used"]["size_mb"] > 2


def test_what_streams_is_reported_and_adds_up():  # S168
    desk = Desk(megabytes=3.5)
    handle, hidden = desk.handle(4, "zoo:streamed"), zoo.example()
    for passes in (1, 2):
        desk.ctx.run("talker", [handle], lambda times=passes: [handle.module(hidden) for _ in range(times)])
    figures = desk.ctx.report.memory["zoo:streamed"]
    assert figures["streamed_mb"] == 2 * 3  # two of four units, three passes, 1 MB each
    assert figures["loaded_mb"] == handle.loaded_bytes / MB < figures["size_mb"]


def test_a_model_larger_than_the_device_gives_the_same_result():
    hidden, desk = zoo.example(), Desk(megabytes=1.5)
    handle = desk.handle(4)
    assert torch.equal(desk.ctx.run("talker", [handle], lambda: handle.module(hidden)), zoo.chain(4)(hidden))
    assert desk.card.peak_bytes <= 1.5 * MB


def test_cancel_is_checked_at_every_copy():  # S137
    checks = []
    desk = Desk(megabytes=1.5, hooks={"on_check": lambda: checks.append(1)})
    handle, hidden = desk.handle(4), zoo.example()
    with desk.ctx.use("talker", [handle]):
        before = len(checks)
        handle.module(hidden)
        assert len(checks) == before + 4
        desk.ctx.cancelled.set()
        with pytest.raises(Cancelled):
            handle.module(hidden)
    assert not handle.is_busy
    handle.module(hidden)  # nobody's request any more: nothing to cancel


def test_a_rerun_has_half_of_the_weights_on_the_device():  # S155
    desk = Desk(megabytes=7)
    handle, hidden = desk.handle(6), zoo.example()
    tries = []

    def phase():
        tries.append(handle.loaded_bytes)
        desk.borrow(3)
        return handle.module(hidden)

    assert torch.equal(desk.ctx.run("talker", [handle], phase), zoo.chain(6)(hidden))
    assert tries[0] == handle.size_bytes
    assert tries[1] <= tries[0] / 2
    assert desk.ctx.report.applied == {"oom_retries": 1}


def test_use_lets_go_when_the_block_or_the_placing_fails():
    desk = Desk(megabytes=1.5)
    small, large = desk.handle(1), desk.handle(2)
    with pytest.raises(KeyError), desk.ctx.use("talker", [small]):
        raise KeyError
    desk.card.total_bytes = MB // 2  # not even one slot fits
    with pytest.raises(RuntimeError, match="out of memory"), desk.ctx.use("talker", [large]):
        pass
    assert not small.is_busy
    assert not large.is_busy
    assert not torch.is_inference_mode_enabled()


def test_use_is_not_retried(desk):  # S158
    handle = desk.handle(1)
    with pytest.raises(RuntimeError, match="out of memory"), desk.ctx.use("talker", [handle]):
        desk.borrow(100)
    assert desk.ctx.report.applied == {}


def test_phases_nest_without_evicting_each_other():
    desk = Desk(megabytes=3.5)
    outer, inner, idle = desk.handle(1, "outer"), desk.handle(1, "inner"), desk.handle(1, "idle")
    desk.memory.place([idle], 0)
    with desk.ctx.use("talker", [outer]):
        desk.ctx.run("codec decoder", [inner], lambda: None, working_bytes=MB)
        assert outer.is_ready
    assert (inner.is_ready, idle.is_ready) == (True, False)


def test_run_gives_the_result(desk):
    handle, hidden = desk.handle(2), zoo.example()
    result = desk.ctx.run("talker", [handle], lambda: handle.module(hidden))
    assert torch.equal(result, zoo.chain(2)(hidden))
    assert desk.ctx.report.warnings == []
    assert desk.ctx.run("nothing", [], lambda: None) is None


def test_same_result_resident_evicted_and_on_the_cpu():  # S097
    hidden, results = zoo.example(), []
    for megabytes in (16, 4.5):
        desk = Desk(megabytes)
        first, second = desk.handle(3, "first"), desk.handle(3, "second")
        for handle in (first, second, first, second):
            results.append(desk.ctx.run("talker", [handle], lambda used=handle: used.module(hidden)))
        assert desk.card.peak_bytes <= megabytes * MB
    cpu = ModelHandle("zoo:cpu", zoo.chain(3), CPU, desk.devices)
    results.append(desk.ctx.run("talker", [cpu], lambda: cpu.module(hidden)))
    assert all(torch.equal(result, results[0]) for result in results)


class Greedy:
    """A phase that draws from every generator and then needs more memory than its estimate said."""

    def __init__(self, desk, megabytes):
        self.desk, self.megabytes = desk, megabytes
        self.own = torch.Generator().manual_seed(99)
        self.tries = []

    def __call__(self):
        ctx = self.desk.ctx
        drawn = (
            torch.rand(3, generator=ctx.generator_for(CPU)),
            torch.rand(3, generator=self.own),
            torch.tensor(ctx.rng.random()),
        )
        self.tries.append(torch.cat([part.flatten() for part in drawn]))
        self.desk.borrow(self.megabytes)
        return self.tries[-1]


def test_a_rerun_makes_room_and_draws_the_same(desk):  # S154-S157
    idle, handle = desk.handle(10, "idle"), desk.handle(2)
    desk.memory.place([idle], 0)
    phase = Greedy(desk, megabytes=8)  # 16 in all, of which 12 are taken
    result = desk.ctx.run("talker", [handle], phase, generators=[phase.own])
    assert len(phase.tries) == 2
    assert torch.equal(*phase.tries)
    assert idle.loaded_bytes == 0
    assert handle.is_ready
    assert torch.equal(result, Greedy(Desk(), 0)())
    assert desk.ctx.report.applied == {"oom_retries": 1}
    # Half of what it had on the device is less than the whole handle: it streams.
    assert [warning["code"] for warning in desk.ctx.report.warnings] == ["partly_loaded", "oom_retry"]


def test_draws_before_and_after_a_rerun_follow_on():
    sequences = []
    for megabytes in (0, 8):
        desk = Desk()
        idle, handle = desk.handle(10, "idle"), desk.handle(2)
        desk.memory.place([idle], 0)
        generator, rng = desk.ctx.generator_for(CPU), desk.ctx.rng
        sequence = [torch.rand(1, generator=generator), rng.random()]
        desk.ctx.run("talker", [handle], Greedy(desk, megabytes))
        assert desk.ctx.generator_for(CPU) is generator
        sequences.append([*sequence, torch.rand(1, generator=generator), rng.random()])
    assert sequences[0] == sequences[1]


def test_frames_of_the_failed_attempt_are_dead_before_the_next(desk):  # S154
    handle, alive, seen = desk.handle(1), [], []

    def phase():
        seen.extend(reference() for reference in alive)
        activation = torch.zeros(4)
        alive.append(ref(activation))
        desk.borrow(100 if len(alive) == 1 else 1)

    gc.collect()
    gc.disable()
    try:
        desk.ctx.run("talker", [handle], phase)
    finally:
        gc.enable()
    assert seen == [None]


def test_the_third_failure_is_final_and_says_why(desk):  # S157
    handle = desk.handle(2, "zoo/two:part")
    phase = Greedy(desk, megabytes=100)
    with pytest.raises(OutOfDeviceMemory) as caught:
        desk.ctx.run("talker", [handle], phase, working_bytes=8 * MB)
    assert len(phase.tries) == 3
    text, detail = str(caught.value), caught.value.detail
    assert '"zoo/two:part" needs at least 0.01 GB on cuda:0 (0.00 fixed + 0.00 for one streamed layer + 0.01' in text
    assert "0.01 working memory) and 0.02 GB is free. Other programs hold 0.00 of 0.02 GB. Close" in text
    assert "set the loader's device to cpu" in text
    assert detail["needed_bytes"] == handle.minimum_bytes + 8 * MB
    assert detail["free_bytes"] == 16 * MB
    assert detail["reason"] == "out_of_memory"
    assert "104857600 bytes wanted" in detail["error"]
    json.dumps(detail)
    assert caught.value.__context__ is None  # the failed attempt's tensors do not live on in it
    assert not handle.is_busy


def test_a_model_that_is_too_large_ends_the_same_way(caplog):
    desk = Desk(megabytes=0.9)  # less than one slot
    handle = desk.handle(3)
    with (
        caplog.at_level(logging.ERROR, "mizuoto.memory"),
        pytest.raises(OutOfDeviceMemory, match=r"needs at least 0.00 GB"),
    ):
        desk.ctx.run("talker", [handle], lambda: None)
    assert not handle.is_busy


@pytest.mark.parametrize("oom_retries", [0, 1, 2])
def test_the_number_of_retries_is_a_setting(oom_retries):
    desk = Desk(oom_retries=oom_retries)
    phase = Greedy(desk, megabytes=100)
    with pytest.raises(OutOfDeviceMemory):
        desk.ctx.run("talker", [desk.handle(1)], phase)
    assert len(phase.tries) == 1 + oom_retries


@pytest.mark.parametrize("error", [ValueError, Cancelled, KeyboardInterrupt, OutOfDeviceMemory])
def test_other_errors_are_not_retried(desk, error):
    calls = []

    def phase():
        calls.append(1)
        raise error("on purpose")

    with pytest.raises(error, match="on purpose"):
        desk.ctx.run("talker", [desk.handle(1)], phase)
    assert len(calls) == 1


def test_the_fallback_is_off_by_default(desk):  # S159
    with pytest.raises(OutOfDeviceMemory):
        desk.ctx.run("talker", [desk.handle(1)], Greedy(desk, 100), fallback=("in pieces", lambda: "pieces"))
    assert "fallbacks" not in desk.ctx.report.applied


def test_the_fallback_replaces_the_phase_and_is_reported():
    desk = Desk(oom_fallback=True)
    phase, pieces = Greedy(desk, 100), Greedy(desk, 0)
    pieces.own = phase.own
    result = desk.ctx.run("talker", [desk.handle(1)], phase, generators=[phase.own], fallback=("in pieces", pieces))
    assert torch.equal(result, phase.tries[0])  # starts from the same draws
    assert desk.ctx.report.applied == {"oom_retries": 2, "fallbacks": ["in pieces"]}
    assert desk.ctx.report.warnings == [
        {"code": "fallback", "text": "talker: used in pieces because device memory ran out."}
    ]


def test_the_fallback_is_not_used_without_need():
    desk = Desk(oom_fallback=True)
    assert (
        desk.ctx.run("talker", [desk.handle(1)], lambda: "whole", fallback=("in pieces", lambda: "pieces")) == "whole"
    )
    assert desk.ctx.report.applied == {}


def test_a_fallback_that_fails_is_not_reported_as_used():
    desk = Desk(oom_fallback=True)
    with pytest.raises(OutOfDeviceMemory):
        desk.ctx.run("talker", [desk.handle(1)], Greedy(desk, 100), fallback=("in pieces", Greedy(desk, 50)))
    assert desk.ctx.report.applied == {"oom_retries": 2}
    assert desk.ctx.report.warnings == []


def test_retries_of_several_phases_add_up(desk):
    handle, idle = desk.handle(2), desk.handle(10)
    for _ in range(2):
        desk.memory.place([idle], 0)
        desk.ctx.run("talker", [handle], Greedy(desk, 8))
    assert desk.ctx.report.applied == {"oom_retries": 2}
    assert [warning["code"] for warning in desk.ctx.report.warnings] == ["partly_loaded", "oom_retry"]  # each once


def test_what_a_nested_phase_streams_is_reported_once():
    desk = Desk(megabytes=3.5)
    handle, hidden = desk.handle(4), zoo.example()
    with torch.inference_mode(), desk.ctx.use("outer", [handle]):
        handle.module(hidden)
        with desk.ctx.use("inner", [handle]):
            handle.module(hidden)
        handle.module(hidden)
    assert desk.ctx.report.memory[handle.name]["streamed_mb"] == 3 * 2 == handle.streamed_bytes / MB


@pytest.mark.parametrize(("mode", "names_it"), [("high", True), ("auto", False)])
def test_running_out_in_a_mode_that_never_splits_names_the_mode(mode, names_it):
    desk = Desk(vram_mode=mode)
    with pytest.raises(OutOfDeviceMemory) as caught:
        desk.ctx.run("talker", [desk.handle(2)], Greedy(desk, megabytes=100))
    assert ('Mode "high" places models whole' in str(caught.value)) == names_it
    assert ("MIZUOTO_VRAM_MODE" in str(caught.value)) == names_it


GB = 1 << 30


class Large:
    """What the error asks of a handle, in GB."""

    is_managed, load_device = True, GPU

    def __init__(self, name, fixed, slot, loaded=0.0):
        self.name, self.slot_bytes, self.loaded_bytes = name, int(slot * GB), int(loaded * GB)
        self.minimum_bytes = int((fixed + slot) * GB)


@pytest.mark.parametrize(
    ("handles", "weights", "free"),
    [
        (
            [Large("a", 0.35, 0.1, loaded=0.2)],
            "needs at least 0.61 GB on cuda:0 (0.35 fixed + 0.10 for one streamed layer",
            1.2,
        ),
        (
            [Large("a", 0.2, 0.1), Large("b", 0.1, 0.2)],
            "needs at least 0.76 GB on cuda:0 (0.30 fixed + 0.30 for one streamed layer each",
            1.0,
        ),
        ([Large("a", 0.5, 0.0)], "needs at least 0.66 GB on cuda:0 (0.50 weights", 1.0),
    ],
)
def test_the_error_says_what_is_needed_and_who_has_the_rest(monkeypatch, handles, weights, free):
    desk = Desk()
    monkeypatch.setattr(desk.devices, "memory", lambda device: (GB, 24 * GB))
    monkeypatch.setattr(desk.devices, "held_bytes", lambda device: 2 * GB)
    error = desk.ctx._out_of_memory("talker", handles, int(0.16 * GB), "failed")
    names = ", ".join(handle.name for handle in handles)
    assert str(error).startswith(
        f'"{names}" {weights} + 0.16 working memory) and {free:.2f} GB is free. Other programs hold 21.00 of 24.00 GB. '
        "Close other programs that use this device, shorten the text, or set the loader's device to cpu."
    )
    assert error.detail["free_bytes"] == pytest.approx(free * GB, abs=2)


def test_host_memory_is_not_said_to_be_others(desk):
    handle = ModelHandle("zoo:part", zoo.chain(1), CPU, desk.devices)
    text = str(desk.ctx._out_of_memory("talker", [handle], MB, "failed"))
    assert "GB is free. Close" in text and "weights" in text
