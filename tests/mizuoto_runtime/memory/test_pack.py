from weakref import ref

import pytest
import torch
from mizuoto.mizuoto_runtime import ops
from mizuoto.mizuoto_runtime.memory.pack import ALIGNMENT, Pack, padded
from mizuoto.mizuoto_runtime.memory.pinning import Pinner
from mizuoto.mizuoto_runtime.memory.units import layout_of
from mizuoto.tests.mizuoto_runtime.memory import zoo
from mizuoto.tests.mizuoto_runtime.memory.stage import is_nowhere
from mizuoto.tests.mizuoto_runtime.memory.zoo import Chain
from torch import nn

ODD, ODDER = 515, 513  # no weight's bytes are a multiple of the alignment


@pytest.fixture(params=[True, False], ids=["strict", "lenient"])
def strict(request):
    return request.param


def mixed():
    """A unit of three weights, one of them half-precision, one a convolution's."""
    layers = nn.Sequential(
        ops.Linear(ODD, ODDER), ops.Linear(ODDER, ODD).to(torch.bfloat16), ops.Conv1d(33, 35, 3, bias=False)
    )
    module = Chain([layers])
    ops.init_random(module, torch.Generator().manual_seed(3))
    return module, layout_of(module).units[0]


def pack_of(strict):
    module, unit = mixed()
    values = [weight.tensor.detach().clone() for weight in unit.weights]
    return module, Pack(unit, strict), values


def buffer_like(pack):
    """A device buffer with the unit's bytes."""
    buffer = torch.empty(pack.num_bytes, dtype=torch.uint8)
    buffer.copy_(pack.host)
    return buffer


def tensors(pack):
    return [weight.tensor for weight in pack.unit.weights]


def test_padding():
    assert [padded(size) for size in (0, 1, 63, 64, 65, 1000)] == [0, 64, 64, 64, 128, 1024]


def test_every_weight_is_aligned_in_every_buffer():
    _, pack, values = pack_of(False)
    assert any(value.nbytes % ALIGNMENT for value in values)
    for buffer in (pack.host, buffer_like(pack)):
        pack.point_at(buffer)
        offsets = [tensor.data_ptr() - buffer.data_ptr() for tensor in tensors(pack)]
        assert all(offset % ALIGNMENT == 0 for offset in offsets)
        assert all(tensor.data_ptr() % ALIGNMENT == 0 for tensor in tensors(pack))
        assert offsets == sorted(set(offsets))
        ends = [offset + value.nbytes for offset, value in zip(offsets, values, strict=True)]
        assert all(end <= start for end, start in zip(ends, [*offsets[1:], pack.num_bytes], strict=True))


def test_the_bytes_are_those_of_the_weights_padded(strict):
    _, pack, values = pack_of(strict)
    assert pack.num_bytes == pack.host.nbytes == sum(padded(value.nbytes) for value in values)
    assert pack.unit.num_bytes < pack.num_bytes


def test_values_dtypes_and_shapes_survive_every_move(strict):
    _, pack, values = pack_of(strict)
    for _ in range(2):
        pack.move_to(buffer_like(pack))
        for tensor, value in zip(tensors(pack), values, strict=True):
            assert (tensor.dtype, tensor.shape) == (value.dtype, value.shape)
            assert torch.equal(tensor, value)
        pack.move_home()
        for tensor, value in zip(tensors(pack), values, strict=True):
            assert (tensor.dtype, tensor.shape, is_nowhere(tensor)) == (value.dtype, value.shape, strict)
            assert strict or torch.equal(tensor, value)


def test_parameters_stay_the_same(strict):
    module, unit = mixed()
    module.requires_grad_(False)
    before = [weight.tensor for weight in unit.weights]
    pack = Pack(unit, strict)
    pack.move_to(buffer_like(pack))
    after = tensors(pack)
    assert all(isinstance(tensor, nn.Parameter) and not tensor.requires_grad for tensor in after)
    assert all(old is new for old, new in zip(before, after, strict=True))
    assert [id(tensor) for tensor in after] == [id(owner.weight) for owner in module.layers[0]]


def test_the_weights_old_memory_is_freed(strict):
    module, unit = mixed()
    storages = [ref(weight.tensor.untyped_storage()) for weight in unit.weights]
    data = [ref(weight.tensor) for weight in unit.weights]
    pack = Pack(unit, strict)
    assert all(storage() is None for storage in storages)
    assert all(parameter() is not None for parameter in data)  # but the objects stay
    assert pack.modules == [module.layers[0], *module.layers[0]]


def test_a_dropped_host_buffer_comes_back_from_the_device(strict):
    _, pack, values = pack_of(strict)
    pack.move_to(buffer_like(pack))
    host = ref(pack.host)
    pack.drop_host()
    assert (pack.host, host()) == (None, None)
    pack.drop_host()
    pack.move_home()
    assert pack.device_buffer is None
    pack.move_to(buffer_like(pack))
    assert all(torch.equal(tensor, value) for tensor, value in zip(tensors(pack), values, strict=True))


def test_a_buffer_that_was_left_is_not_kept(strict):
    _, pack, _ = pack_of(strict)
    buffer = buffer_like(pack)
    watched = ref(buffer.untyped_storage())
    pack.move_to(buffer)
    pack.move_home()
    del buffer
    assert watched() is None


@pytest.mark.parametrize("species", ["shared_inside", "reused", "two_paths"])
def test_tied_weights_move_once_for_all_their_owners(species, strict):
    module = zoo.built(species)
    for unit in layout_of(module).units:
        pack = Pack(unit, strict)
        assert pack.num_bytes == unit.num_bytes
        pack.point_at(pack.host)
        for weight in unit.weights:
            assert len({id(getattr(owner, name)) for owner, name in weight.owners}) == 1
        assert len(pack.modules) == len(set(pack.modules))


def test_nothing_becomes_an_inference_tensor(strict):  # S136
    _, pack, _ = pack_of(strict)
    with torch.inference_mode(False):
        buffer = buffer_like(pack)
    with torch.inference_mode():
        pack.point_at(buffer)
        assert not any(tensor.is_inference() for tensor in tensors(pack))
        pack.park()
    assert not any(tensor.is_inference() for tensor in tensors(pack))


def test_modules_read_from_a_buffer_that_is_swapped_in_alone(strict):
    module, pack, values = pack_of(strict)
    own, buffer = tensors(pack), buffer_like(pack)
    own[0].note = "kept"
    with torch.inference_mode():
        for _ in range(2):
            pack.swap_in(buffer)
            lent = tensors(pack)
            assert all(torch.equal(tensor, value) for tensor, value in zip(lent, values, strict=True))
            assert all(tensor.data_ptr() % ALIGNMENT == 0 and not tensor.is_inference() for tensor in lent)
            assert [tensor.requires_grad for tensor in lent] == [tensor.requires_grad for tensor in own]
            assert lent[0].note == "kept"
            assert all(isinstance(tensor, nn.Parameter) for tensor in module.parameters())
            pack.swap_out()
            assert all(a is b for a, b in zip(own, tensors(pack), strict=True))
    assert all(is_nowhere(tensor) == strict for tensor in own)
    watched = ref(buffer.untyped_storage())
    pack.forget(buffer)
    del buffer, lent
    assert watched() is None


class Copies(Pinner):
    """Pins nothing in place, as on ROCm; copies lie in pageable memory."""

    def __init__(self):
        super().__init__(1 << 30, None, lambda num_bytes: torch.zeros(num_bytes, dtype=torch.uint8))


def test_what_cannot_be_pinned_in_place_streams_from_a_pinned_copy(strict):  # S135
    _, pack, values = pack_of(strict)
    pinner, before = Copies(), pack.host
    pack.pin(pinner, torch.device("cuda", 0))
    assert pack.host is before and not pack.is_pinned(pinner)
    pack.pin_for_streaming(pinner, torch.device("cuda", 0))
    assert pack.host is not before and pack.is_pinned(pinner)
    assert torch.equal(pack.host, before)
    if not strict:  # its parameters are views of the copy
        assert all(tensor.untyped_storage().data_ptr() == pack.host.data_ptr() for tensor in tensors(pack))
    pack.point_at(buffer_like(pack))
    assert all(torch.equal(found, value) for found, value in zip(tensors(pack), values, strict=True))
