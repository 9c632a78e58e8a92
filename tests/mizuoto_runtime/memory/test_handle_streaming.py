"""Handles that do not fit: partly placed, run by streaming, rearranged, capped, interrupted and dropped."""

import gc
from weakref import ref

import pytest
import torch
from mizuoto.mizuoto_runtime.memory import handle as module
from mizuoto.mizuoto_runtime.memory.handle import WORTH_MOVING
from mizuoto.mizuoto_runtime.memory.ring import SyncQueue
from mizuoto.mizuoto_runtime.simulate import SimulatedOutOfMemory
from mizuoto.mizuoto_runtime.snapshot import snapshot
from mizuoto.tests.mizuoto_runtime.memory import zoo
from mizuoto.tests.mizuoto_runtime.memory.zoo import UNIT, ZOO, handle_on, resident, simulated, streaming
from torch import nn

ROOMY = 64 << 20
BUDGETS = {
    "streamed": lambda handle: handle.minimum_bytes,
    "half": lambda handle: (handle.minimum_bytes + handle.size_bytes) // 2,
    "whole": lambda handle: handle.size_bytes,
}


@pytest.fixture(params=[True, False], ids=["strict", "lenient"])
def strict(request):
    return request.param


@pytest.fixture(params=["oneshot", "sequence"])
def kind(request):
    return request.param


class Overlapping(SyncQueue):
    """Copies at once, but the streamer takes it for an asynchronous queue."""

    overlaps = True


def overlapping(devices, monkeypatch):
    monkeypatch.setattr(devices, "copies_overlap", lambda device: True)
    monkeypatch.setattr(module, "queue_for", lambda devices, device: Overlapping())


def used(handle):
    return handle._devices.simulated[handle.load_device].used_bytes


def run(handle):
    with torch.inference_mode():
        return handle.module(zoo.example())


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("species", ZOO)
@pytest.mark.parametrize("overlaps", [True, False])
def test_same_output_as_on_the_cpu(species, budget, kind, strict, overlaps, monkeypatch):  # S120, S176
    network, hidden = zoo.built(species), zoo.example()
    with torch.inference_mode():
        expected = network(hidden)
    devices, _ = simulated(ROOMY, strict)
    if overlaps:
        overlapping(devices, monkeypatch)
    handle = handle_on(devices, network, kind=kind)
    limit = BUDGETS[budget](handle)
    with torch.inference_mode():
        handle.place(limit)
        assert handle.is_ready
        for _ in range(3):
            assert torch.equal(network(hidden), expected)
    assert 0 <= handle.loaded_bytes == used(handle) <= limit
    assert bool(handle.num_hooks) == bool(streaming(handle)) == (not handle.is_whole)
    tensors = (*network.parameters(), *network.buffers())
    assert not any(tensor.is_inference() for tensor in tensors)  # S136
    assert len(resident(handle)) + len(streaming(handle)) == len(handle.layout.units)
    handle.release()
    assert (used(handle), handle.num_hooks, handle.loaded_bytes) == (0, 0, 0)


@pytest.mark.parametrize("overlaps", [True, False])
def test_every_budget_between_nothing_and_everything(kind, overlaps, monkeypatch):
    devices, _ = simulated(ROOMY)
    if overlaps:
        overlapping(devices, monkeypatch)
    handle = handle_on(devices, zoo.built("nested"), kind=kind)
    expected = zoo.built("nested")(zoo.example())
    for budget in range(0, handle.size_bytes + UNIT // 2, UNIT // 2):
        added = handle.place(budget)
        assert added == handle.loaded_bytes == used(handle) <= budget
        assert handle.is_ready == (budget >= handle.minimum_bytes)
        assert not handle.is_ready or torch.equal(run(handle), expected)
        handle.release()


def test_hooks_stand_on_streamed_units_alone():  # S122
    handle = handle_on(simulated(ROOMY)[0], zoo.chain(4))
    handle.place(handle.minimum_bytes + 2 * UNIT)
    hooked = {name for name, part in handle.module.named_modules() if part._forward_pre_hooks or part._forward_hooks}
    assert hooked == set(streaming(handle))
    assert len(hooked) == 2
    handle.place()
    assert not any(part._forward_pre_hooks or part._forward_hooks for part in handle.module.modules())


def test_streamed_bytes_are_counted_over_the_whole_life():  # C3
    handle = handle_on(simulated(ROOMY)[0], zoo.chain(4))
    handle.place(handle.minimum_bytes)
    run(handle)
    run(handle)
    assert handle.streamed_bytes == 8 * UNIT
    handle.place(2 * UNIT)
    run(handle)
    assert handle.streamed_bytes == 10 * UNIT
    handle.place()
    run(handle)
    handle.release()
    handle.place(handle.minimum_bytes)
    run(handle)
    assert handle.streamed_bytes == 14 * UNIT


def test_little_more_room_rearranges_nothing():  # WORTH_MOVING
    handle = handle_on(simulated(ROOMY)[0], zoo.chain(24))
    assert UNIT < WORTH_MOVING * handle.size_bytes < 2 * UNIT
    handle.place(handle.minimum_bytes + 4 * UNIT)
    streamer, placed = handle._streamer, resident(handle)
    assert handle.place(UNIT) == handle.place(0) == 0
    assert handle._streamer is streamer
    assert resident(handle) == placed
    assert handle.place(2 * UNIT) == 2 * UNIT
    handle.place(handle.size_bytes)
    handle.release(UNIT)
    handle.place(0)
    assert len(streaming(handle)) == 2
    assert handle.place(UNIT) == UNIT  # the last step is always worth it: nothing streams then
    assert handle.is_whole


@pytest.mark.parametrize("room", [0, 1, UNIT - 1])
def test_no_room_for_the_ring(strict, room):
    devices, device = simulated(ROOMY, strict)
    handle = handle_on(devices, zoo.chain(4))
    fixed, expected = handle.layout.fixed_bytes, zoo.chain(4)(zoo.example())
    devices.simulated[device].total_bytes = fixed + 2 * UNIT + room
    with pytest.raises(SimulatedOutOfMemory):
        handle.place(fixed + 3 * UNIT)
    assert used(handle) == handle.loaded_bytes == fixed + 2 * UNIT  # what arrived stays
    assert (handle.is_ready, handle.num_hooks) == (False, 0)
    devices.simulated[device].total_bytes = ROOMY
    assert handle.place(UNIT) == UNIT
    assert torch.equal(run(handle), expected)
    handle.release()
    assert used(handle) == 0


def test_no_room_for_the_second_slot(monkeypatch):
    devices, device = simulated(ROOMY)
    overlapping(devices, monkeypatch)
    handle = handle_on(devices, zoo.chain(4))
    fixed = handle.layout.fixed_bytes
    devices.simulated[device].total_bytes = fixed + 2 * UNIT - 1
    with pytest.raises(SimulatedOutOfMemory):
        handle.place(fixed + 2 * UNIT)
    assert used(handle) == handle.loaded_bytes == fixed
    handle.place(UNIT)  # what there really is
    assert handle.is_ready


def test_only_whole_handles_go_without_host_copies(strict):  # S142
    handle = handle_on(simulated(ROOMY, strict)[0], zoo.chain(4), keeps_host_copies=False)
    expected, units_bytes = zoo.chain(4)(zoo.example()), 4 * UNIT

    def copies():
        return sum(pack.num_bytes for pack in handle._packs if pack.host is not None)

    handle.place(handle.minimum_bytes + UNIT)
    assert copies() == units_bytes
    handle.place()
    assert (handle.is_whole, copies()) == (True, 0)
    assert torch.equal(run(handle), expected)
    handle.release(1)
    handle.place(0)
    assert (len(streaming(handle)), copies()) == (2, 2 * UNIT)
    assert torch.equal(run(handle), expected)
    handle.release()
    assert copies() == units_bytes


@pytest.mark.parametrize("mode", ["high", "shared"])
def test_modes_that_never_split_place_whole_or_not_at_all(mode):
    handle = handle_on(simulated(ROOMY)[0], zoo.chain(3), mode=mode)
    assert handle.minimum_bytes == handle.size_bytes
    assert handle.place(handle.size_bytes - 1) == 0
    assert handle.place(handle.size_bytes) == handle.size_bytes
    assert handle.release(1) == UNIT
    assert handle.place(UNIT - 1) == 0
    assert not handle.is_ready
    assert handle.place(UNIT) == UNIT


@pytest.mark.parametrize(("mode", "most"), [("none", 0), ("low", 2)])
def test_modes_that_place_less_than_fits(mode, most):  # M10
    handle = handle_on(simulated(ROOMY)[0], zoo.chain(8), mode=mode)
    handle.place(handle.size_bytes)
    assert handle.is_ready
    assert len(resident(handle)) == most
    assert torch.equal(run(handle), zoo.chain(8)(zoo.example()))


def test_the_cap_halves_what_it_may_have_until_it_has_left():  # S155
    handle = handle_on(simulated(ROOMY)[0], zoo.chain(8))
    handle.cap_after_oom()  # nothing is there: nothing is capped
    handle.place()
    half = handle.loaded_bytes // 2
    handle.cap_after_oom()
    assert handle.loaded_bytes <= half
    handle.place()
    assert handle.is_ready
    assert half - UNIT < handle.loaded_bytes <= half
    assert torch.equal(run(handle), zoo.chain(8)(zoo.example()))
    for _ in range(5):  # never below what it needs to run
        handle.cap_after_oom()
        handle.place()
        assert handle.is_ready
    assert handle.loaded_bytes == handle.minimum_bytes
    handle.place()
    assert not handle.is_whole
    handle.release()
    handle.place()
    assert handle.is_whole


class OnPurposeError(Exception):
    """What cancels a request."""


def cancel_at(handle, number):
    """A check that fails from its call `number` on."""
    left = [number]

    def check():
        left[0] -= 1
        if left[0] < 0:
            raise OnPurposeError

    return handle.held(check)


def live_tensors():
    gc.collect()
    return sum(type(found) in (torch.Tensor, nn.Parameter) for found in gc.get_objects())


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("overlaps", [True, False])
def test_cancelling_200_times_in_the_middle_leaks_nothing(overlaps, monkeypatch):
    devices, _ = simulated(ROOMY)
    if overlaps:
        overlapping(devices, monkeypatch)
    handle, expected = handle_on(devices, zoo.chain(4)), zoo.chain(4)(zoo.example())
    handle.place(handle.minimum_bytes + UNIT)

    def cancel(repeats):
        for repeat in range(repeats):
            with pytest.raises(OnPurposeError), cancel_at(handle, repeat % 3):
                for _ in range(2):
                    run(handle)

    cancel(12)  # until every unit has been in every slot: its views of them are kept
    tensors, num_bytes, hooks = live_tensors(), used(handle), handle.num_hooks
    cancel(200)
    assert (live_tensors(), used(handle), handle.num_hooks) == (tensors, num_bytes, hooks)
    assert torch.equal(run(handle), expected)


def test_rounds_of_load_run_and_unload_do_not_grow(strict):  # C13
    handle, expected = handle_on(simulated(ROOMY, strict)[0], zoo.chain(3)), zoo.chain(3)(zoo.example())
    counts = []
    for rounds in (1, 19):
        for budget in (0, UNIT, 2 * UNIT) * rounds:
            handle.place(handle.minimum_bytes + budget)
            assert torch.equal(run(handle), expected)
            handle.release()
        counts.append((live_tensors(), used(handle), handle.host_bytes))
    assert counts[0] == counts[1]


def test_an_interrupt_of_the_process_is_cleaned_up_when_the_phase_ends():
    handle, expected = handle_on(simulated(ROOMY)[0], zoo.chain(3)), zoo.chain(3)(zoo.example())
    handle.place(handle.minimum_bytes)

    def interrupt(*_):
        raise KeyboardInterrupt

    hook = handle.module.layers[1].register_forward_pre_hook(interrupt)
    with pytest.raises(KeyboardInterrupt), handle.held():
        run(handle)
    hook.remove()
    assert torch.equal(run(handle), expected)


def test_the_check_of_a_phase_ends_with_it():
    handle = handle_on(simulated(ROOMY)[0], zoo.chain(2))
    handle.place(handle.minimum_bytes)
    with handle.held(lambda: None), pytest.raises(OnPurposeError), cancel_at(handle, 0):
        run(handle)
    run(handle)


@pytest.mark.parametrize("extra", [0, UNIT])
def test_a_handle_dropped_while_it_streams_is_freed_at_once(strict, extra):
    gc.collect()
    gc.disable()  # reference counting alone must do it
    try:
        devices, device = simulated(ROOMY, strict)
        handle = handle_on(devices, zoo.chain(3))
        handle.place(handle.minimum_bytes + extra)
        run(handle)
        assert handle.num_hooks
        watched = [ref(handle), ref(handle.module), *(ref(pack.host) for pack in handle._packs)]
        del handle
        assert [reference() for reference in watched] == [None] * len(watched)
        assert devices.simulated[device].used_bytes == 0
    finally:
        gc.enable()


def test_a_dropped_handle_waits_for_copies_that_are_under_way(monkeypatch):
    devices, _ = simulated(ROOMY)
    waited = []
    monkeypatch.setattr(devices, "synchronize", lambda device: waited.append(devices.simulated[device].used_bytes))
    handle = handle_on(devices, zoo.chain(3))
    handle.place(handle.minimum_bytes)
    num_bytes, waited[:] = used(handle), []
    del handle
    assert waited == [num_bytes]  # before the slots go back


def test_a_module_that_outlives_its_handle_has_no_hooks_left():
    network, expected = zoo.chain(3), zoo.chain(3)(zoo.example())
    handle = handle_on(simulated(ROOMY, strict=False)[0], network)
    handle.place(handle.minimum_bytes)
    del handle
    assert not any(part._forward_pre_hooks or part._forward_hooks for part in network.modules())
    assert torch.equal(network(zoo.example()), expected)


def test_the_state_of_the_process_stays(strict):  # S045
    before = snapshot()
    handle = handle_on(simulated(ROOMY, strict)[0], zoo.chain(4))
    for budget in (handle.minimum_bytes, UNIT, module.ALL):
        handle.place(budget)
        run(handle)
    with pytest.raises(OnPurposeError), cancel_at(handle, 0):
        handle.release(UNIT)
        handle.place(0)
        run(handle)
    handle.release()
    assert snapshot() == before


class Pins:
    """Counts what is asked to be pinned."""

    def __init__(self):
        self.pinned = []

    def pin(self, buffer, device):
        self.pinned.append((buffer.num_bytes, str(device)))
        return True

    def for_streaming(self, buffer, device):
        self.pin(buffer, device)
        return buffer


def test_what_streams_or_may_come_back_is_pinned():  # S131, S132
    pins = Pins()
    handle = handle_on(simulated(ROOMY)[0], zoo.chain(4), pinner=pins)
    handle.place(handle.minimum_bytes)
    assert len(pins.pinned) == len(streaming(handle)) and {device for _, device in pins.pinned} == {"cuda:0"}
    pins.pinned.clear()
    handle.place()
    assert len(pins.pinned) == len(resident(handle))
    without = handle_on(simulated(ROOMY)[0], zoo.chain(4), pinner=(none := Pins()), keeps_host_copies=False)
    without.place()
    assert not none.pinned
