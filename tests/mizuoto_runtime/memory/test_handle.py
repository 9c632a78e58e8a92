import gc

import pytest
import torch
from mizuoto.mizuoto_runtime.device import CPU, DeviceService
from mizuoto.mizuoto_runtime.memory.handle import ModelHandle
from mizuoto.mizuoto_runtime.memory.pinning import Pinner
from mizuoto.mizuoto_runtime.simulate import SimulatedOutOfMemory
from mizuoto.tests.mizuoto_runtime.memory import zoo
from mizuoto.tests.mizuoto_runtime.memory.stage import is_nowhere
from mizuoto.tests.mizuoto_runtime.memory.zoo import (
    UNIT,
    ZOO,
    Chain,
    handle_on,
    linear,
    resident,
    simulated,
    streaming,
)
from torch import nn

ROOMY = 64 << 20


@pytest.fixture(params=[True, False], ids=["strict", "lenient"])
def strict(request):
    return request.param


def used(devices, device):
    return devices.simulated[device].used_bytes


@pytest.mark.parametrize("species", ZOO)
@pytest.mark.parametrize("keeps_host_copies", [True, False])
def test_same_output_after_every_move(species, strict, keeps_host_copies):
    module, hidden = zoo.built(species), zoo.example()
    with torch.inference_mode():
        expected = module(hidden)
    devices, device = simulated(ROOMY, strict)
    handle = handle_on(devices, module, keeps_host_copies=keeps_host_copies)
    size = handle.size_bytes
    assert (handle.loaded_bytes, used(devices, device)) == (0, 0)
    for _ in range(2):
        assert handle.place() == size
        assert handle.loaded_bytes == used(devices, device) == size
        assert handle.is_ready
        with torch.inference_mode():
            assert torch.equal(module(hidden), expected)
        assert handle.release() == size
        assert (handle.loaded_bytes, used(devices, device)) == (0, 0)
    assert devices.simulated[device].peak_bytes == size


@pytest.mark.parametrize("species", [name for name in ZOO if name not in ("weightless",)])
def test_weights_that_are_not_on_a_strict_device_are_unusable(species):  # S175
    module = zoo.built(species)
    handle = handle_on(simulated(ROOMY)[0], module)
    assert module(zoo.example()).isnan().all()
    assert handle.place(handle.minimum_bytes - 1) == 0
    assert not handle.is_ready
    assert module(zoo.example()).isnan().all()
    handle.place(handle.minimum_bytes)
    assert handle.is_ready
    packs = handle._streamer.packs if handle._streamer else ()
    assert all(is_nowhere(weight.tensor) for pack in packs for weight in pack.unit.weights)  # outside their forward
    assert bool(packs) == (len(handle.layout.units) > 1)


def test_a_lenient_device_leaves_weights_usable():
    module, hidden = zoo.built("chain"), zoo.example()
    expected = module(hidden)
    handle = handle_on(simulated(ROOMY, strict=False)[0], module)
    assert torch.equal(module(hidden), expected)
    handle.place(handle.layout.fixed_bytes + UNIT)
    assert torch.equal(module(hidden), expected)


def test_a_handle_runs_as_soon_as_one_slot_fits(strict):  # S110, S119
    devices, device = simulated(ROOMY, strict)
    handle = handle_on(devices, zoo.chain(4))
    fixed = handle.layout.fixed_bytes
    assert handle.minimum_bytes == fixed + UNIT
    assert handle.place(fixed + UNIT - 1) == 0
    assert (handle.is_ready, used(devices, device)) == (False, 0)
    assert handle.place(fixed + UNIT) == fixed + UNIT  # no resident unit, one slot
    assert (handle.is_ready, handle.is_whole, resident(handle), len(streaming(handle))) == (True, False, [], 4)
    assert handle.place(UNIT - 1) == 0
    assert handle.place(UNIT) == UNIT  # one resident beside the slot
    assert (len(resident(handle)), len(streaming(handle))) == (1, 3)
    assert handle.place(2 * UNIT) == 2 * UNIT  # whole: the slot goes
    assert (handle.is_whole, len(resident(handle)), streaming(handle)) == (True, 4, [])
    assert used(devices, device) == handle.loaded_bytes == handle.size_bytes


def test_units_leave_in_reverse_placement_order_then_ring_then_fixed_part(strict):  # S150
    devices, device = simulated(ROOMY, strict)
    handle = handle_on(devices, zoo.chain(4))
    fixed = handle.layout.fixed_bytes
    handle.place(fixed + 3 * UNIT)
    placed = resident(handle)
    assert len(placed) == 2
    assert handle.release(1) == UNIT  # at least what was asked
    assert resident(handle) == placed[:1]
    assert not handle.is_ready  # until it is placed again
    assert handle.release(UNIT + 1) == 2 * UNIT
    assert (resident(handle), streaming(handle), handle.num_hooks) == ([], [], 0)
    assert used(devices, device) == handle.loaded_bytes == fixed
    assert handle.release(1) == fixed


def test_shrinking_goes_on_by_streaming(strict):
    devices, device = simulated(ROOMY, strict)
    module, hidden = zoo.chain(4), zoo.example()
    expected = module(hidden)
    handle = handle_on(devices, module)
    handle.place()
    assert handle.release(UNIT // 2) == UNIT
    assert not handle.is_ready
    assert handle.place(0) == 0  # one slot and two residents instead of three
    assert (handle.is_ready, len(resident(handle)), used(devices, device)) == (True, 2, handle.size_bytes - UNIT)
    assert torch.equal(module(hidden), expected)


@pytest.mark.parametrize("num_bytes", [0, -5, 0.1])
def test_odd_amounts(num_bytes):
    handle = handle_on(simulated(ROOMY)[0], zoo.chain(2))
    assert handle.place(num_bytes) == 0
    handle.place()
    assert handle.place(num_bytes) == 0
    assert handle.release(num_bytes) == (UNIT if num_bytes > 0 else 0)


def test_moves_are_idempotent(strict):
    devices, device = simulated(ROOMY, strict)
    handle = handle_on(devices, zoo.chain(2))
    assert handle.release() == 0
    handle.place()
    assert handle.place() == 0
    assert used(devices, device) == handle.size_bytes
    handle.release()
    assert handle.release() == 0
    assert used(devices, device) == 0


def test_hot_units_come_first_and_large_ones_next():  # S118
    module = Chain([linear(), nn.Sequential(linear(), linear()), linear()])
    order = {}
    for kind in ("oneshot", "sequence"):
        handle = handle_on(simulated(ROOMY)[0], module, kind=kind, marks={module.layers[2]: "hot"})
        handle.place()
        order[kind] = [name[-1] for name in resident(handle)]
        handle.release()
        module = Chain([linear(), nn.Sequential(linear(), linear()), linear()])
    assert order == {"oneshot": ["2", "1", "0"], "sequence": ["2", "1", "0"]}


def test_out_of_memory_in_the_middle_keeps_what_arrived(strict):
    module, hidden = zoo.chain(3), zoo.example()
    expected = module(hidden)
    devices, device = simulated(ROOMY, strict)
    handle = handle_on(devices, module)
    fixed = handle.layout.fixed_bytes
    devices.simulated[device].total_bytes = fixed + 2 * UNIT + UNIT // 2
    with pytest.raises(SimulatedOutOfMemory):
        handle.place()
    assert handle.loaded_bytes == used(devices, device) == fixed + 2 * UNIT
    assert not handle.is_ready
    devices.simulated[device].total_bytes = ROOMY
    assert handle.place() == UNIT
    assert torch.equal(module(hidden), expected)


@pytest.mark.parametrize("room", [UNIT - 1, UNIT, UNIT + 1, 2 * UNIT - 1])
def test_a_unit_arrives_whole_or_not_at_all(strict, room):
    devices, device = simulated(ROOMY, strict)
    handle = handle_on(devices, zoo.built("nested"))  # one unit of two weights and one of one
    fixed = handle.layout.fixed_bytes
    tensors = [weight.tensor.data_ptr() for unit in handle.layout.units for weight in unit.weights]
    devices.simulated[device].total_bytes = fixed + room
    with pytest.raises(SimulatedOutOfMemory):
        handle.place()  # the larger unit first
    assert used(devices, device) == handle.loaded_bytes == fixed
    assert [weight.tensor.data_ptr() for unit in handle.layout.units for weight in unit.weights] == tensors


def test_a_fixed_part_arrives_whole_or_not_at_all(strict):
    module, hidden = zoo.built("streamable"), zoo.example()
    expected = module(hidden)
    devices, device = simulated(ROOMY, strict)
    handle = handle_on(devices, module)
    devices.simulated[device].total_bytes = handle.layout.fixed_bytes - 1
    with pytest.raises(SimulatedOutOfMemory):
        handle.place()
    assert used(devices, device) == handle.loaded_bytes == 0
    devices.simulated[device].total_bytes = ROOMY
    handle.place()
    assert torch.equal(module(hidden), expected)


def test_host_copies_make_leaving_free_and_cost_memory():  # S141
    def parameters_of(module):
        return {name: parameter.data_ptr() for name, parameter in module.named_parameters()}

    for keeps in (True, False):
        module = zoo.chain(2)
        handle = handle_on(simulated(ROOMY, strict=False)[0], module, keeps_host_copies=keeps)
        original = parameters_of(module)
        assert handle.host_bytes == handle.size_bytes
        handle.place()
        assert parameters_of(module) != original
        assert handle.host_bytes == (handle.size_bytes if keeps else 0)
        handle.release()
        assert (parameters_of(module) == original) == keeps
        assert handle.host_bytes == handle.size_bytes


def test_host_copies_can_be_dropped_where_nothing_needs_them():  # S147
    module, hidden = zoo.chain(3), zoo.example()
    expected = module(hidden)
    devices, device = simulated(ROOMY, strict=False)
    handle = handle_on(devices, module)
    assert handle.drop_host_copies() == 0  # it has nothing else
    handle.place(handle.minimum_bytes)
    assert not handle.is_whole
    assert handle.drop_host_copies() == 0  # it streams from them
    handle.place()
    with handle.held():
        assert handle.drop_host_copies() == 0
    assert handle.drop_host_copies() == handle.size_bytes
    assert handle.host_bytes == handle.drop_host_copies() == 0
    assert torch.equal(module(hidden), expected)
    handle.release()
    assert (handle.host_bytes, used(devices, device)) == (handle.size_bytes, 0)
    handle.place(handle.minimum_bytes)
    assert torch.equal(module(hidden), expected)


def test_a_strict_device_needs_its_host_copies():
    handle = handle_on(simulated(ROOMY, strict=True)[0], zoo.chain(2))
    handle.place()
    assert handle.drop_host_copies() == 0


def test_pinned_bytes_are_those_of_pinned_units():
    class Everything(Pinner):
        def pin(self, buffer, device):
            pinned.append(buffer)
            return True

        def is_pinned(self, buffer):
            return buffer in pinned

    pinned = []
    handle = handle_on(simulated(ROOMY, strict=False)[0], zoo.chain(2), pinner=Everything(1 << 30))
    assert handle.pinned_bytes == 0
    handle.place()
    assert handle.pinned_bytes == handle.size_bytes - handle.layout.fixed_bytes > 0
    assert handle_on(simulated(ROOMY)[0], zoo.chain(2)).pinned_bytes == 0


def test_buffers_come_back_changed(strict):  # S142
    module = zoo.built("not_streamable")
    handle = handle_on(simulated(ROOMY, strict)[0], module)
    handle.place()
    module.layers[0].table.fill_(3.0)
    handle.release()
    handle.place()
    assert torch.equal(module.layers[0].table, torch.full_like(module.layers[0].table, 3.0))


@pytest.mark.parametrize("species", ["chain", "not_streamable", "tied"])
def test_weights_never_become_inference_tensors(species, strict):
    module = zoo.built(species)
    handle = handle_on(simulated(ROOMY, strict)[0], module)
    with torch.inference_mode():
        handle.place()
        module(zoo.example())
        assert not any(tensor.is_inference() for tensor in (*module.parameters(), *module.buffers()))
        handle.release(UNIT)
        handle.place()
        handle.release()
    assert not any(tensor.is_inference() for tensor in (*module.parameters(), *module.buffers()))
    handle.place()
    with torch.no_grad():
        module.get_parameter(next(name for name, _ in module.named_parameters())).add_(1.0)  # still writable outside


def test_parameters_keep_their_identity_on_a_lenient_device():
    module = zoo.chain(2)
    before = list(module.parameters())
    handle = handle_on(simulated(ROOMY, strict=False)[0], module)
    handle.place()
    assert all(old is new for old, new in zip(before, module.parameters(), strict=True))


def test_the_cpu_is_where_weights_already_are():  # S026
    module = zoo.chain(1)
    before = [parameter.data_ptr() for parameter in module.parameters()]
    handle = ModelHandle("zoo:cpu", module, CPU, DeviceService())
    assert handle.is_ready
    assert handle.loaded_bytes == handle.host_bytes == handle.size_bytes
    assert (handle.place(), handle.release(), handle.place(0)) == (0, 0, 0)
    assert [parameter.data_ptr() for parameter in module.parameters()] == before


def test_a_simulated_cpu_is_managed():
    devices = DeviceService({"cpu": ROOMY})
    handle = ModelHandle("zoo:cpu", zoo.chain(1), CPU, devices)
    assert handle.loaded_bytes == 0
    handle.place()
    assert devices.simulated[CPU].used_bytes == handle.size_bytes


def test_fields():  # S021
    handle = handle_on(simulated(ROOMY)[0], zoo.chain(1), name="zoo/chain:part", kind="sequence")
    assert (handle.name, handle.kind) == ("zoo/chain:part", "sequence")
    assert (handle.load_device, handle.offload_device) == (torch.device("cuda", 0), CPU)
    assert handle.compute_device == CPU  # where a simulated device's tensors really are
    assert 0 < handle.minimum_bytes <= handle.size_bytes


def test_held_nests_and_notes_the_last_use():
    handle = handle_on(simulated(ROOMY)[0], zoo.chain(1))
    assert (handle.is_busy, handle.last_used) == (False, 0.0)
    with handle.held(), handle.held():
        assert handle.is_busy
    assert not handle.is_busy
    first = handle.last_used
    assert first > 0
    with pytest.raises(KeyError), handle.held():
        raise KeyError
    assert not handle.is_busy
    assert handle.last_used >= first


def test_holders_leave_in_any_order():
    handle = handle_on(simulated(ROOMY)[0], zoo.chain(1))
    called = []
    first, second = handle.hold(lambda: called.append(1)), handle.hold(lambda: called.append(2))
    handle.gate.check()
    first()
    assert handle.is_busy
    handle.gate.check()
    second()
    assert not handle.is_busy
    handle.gate.check()
    assert called == [1, 2, 2]


def test_a_dropped_handle_gives_its_bytes_back():
    devices, device = simulated(ROOMY)
    handle = handle_on(devices, zoo.chain(2))
    handle.place(handle.layout.fixed_bytes + UNIT)
    assert used(devices, device) > UNIT
    del handle
    gc.collect()
    assert used(devices, device) == 0
