import pytest
import torch
from mizuoto.mizuoto_runtime.memory.fixed import FixedPart
from mizuoto.mizuoto_runtime.memory.units import layout_of
from mizuoto.mizuoto_runtime.simulate import SimulatedOutOfMemory
from mizuoto.tests.mizuoto_runtime.memory import zoo
from mizuoto.tests.mizuoto_runtime.memory.stage import is_nowhere

ROOMY = 64 << 20


@pytest.fixture(params=[True, False], ids=["strict", "lenient"])
def strict(request):
    return request.param


class Desk:
    """The fixed part of a module with parameters, a large buffer and a tied weight among them."""

    def __init__(self, strict, species="not_streamable", keeps=True):
        self.devices, self.device = zoo.simulated(ROOMY, strict)
        self.card = self.devices.simulated[self.device]
        self.module = zoo.built(species)
        self.weights = layout_of(self.module).fixed
        self.values = [weight.tensor.detach().clone() for weight in self.weights]
        self.part = FixedPart(self.weights, self.device, self.devices, keeps)

    def pointers(self):
        return [weight.tensor.data_ptr() for weight in self.weights]

    def is_unchanged(self):
        return all(torch.equal(w.tensor, value) for w, value in zip(self.weights, self.values, strict=True))


@pytest.mark.parametrize("species", ["not_streamable", "tied", "recurrent", "buffer_weight", "weightless"])
@pytest.mark.parametrize("keeps", [True, False])
def test_there_and_back(strict, species, keeps):
    desk = Desk(strict, species, keeps)
    size = desk.part.num_bytes
    assert size == sum(value.nbytes for value in desk.values)
    for _ in range(2):
        assert (desk.part.is_placed, desk.part.host_bytes, desk.card.used_bytes) == (False, size, 0)
        desk.part.bring()
        assert (desk.part.is_placed, desk.card.used_bytes) == (True, size)
        assert desk.is_unchanged()
        desk.part.send_back()
        assert all(is_nowhere(weight.tensor) == strict for weight in desk.weights)
    assert desk.card.used_bytes == 0


def test_kept_copies_are_the_same_memory_again():  # S141
    for keeps in (True, False):
        desk = Desk(False, "tied", keeps)
        before = desk.pointers()
        desk.part.bring()
        assert set(desk.pointers()).isdisjoint(before)
        assert desk.part.host_bytes == desk.part.num_bytes * keeps
        desk.part.send_back()
        assert (desk.pointers() == before) == keeps


def test_buffers_are_copied_back_and_parameters_are_not():  # S142
    desk = Desk(False)
    desk.part.bring()
    with torch.no_grad():
        for weight in desk.weights:
            weight.tensor.fill_(3.0)
    desk.part.send_back()
    for weight, value in zip(desk.weights, desk.values, strict=True):
        assert torch.equal(weight.tensor, torch.full_like(value, 3.0) if weight.is_buffer else value)
    assert {weight.is_buffer for weight in desk.weights} == {True, False}


def test_a_strict_device_keeps_a_changed_buffer_too():
    desk = Desk(True)
    table = desk.module.layers[0]
    desk.part.bring()
    table.table.fill_(3.0)
    desk.part.send_back()
    desk.part.bring()
    assert torch.equal(table.table, torch.full_like(table.table, 3.0))


@pytest.mark.parametrize("missing", [1, 1 << 20])
def test_a_copy_that_fails_leaves_nothing_half_moved(strict, missing):
    desk = Desk(strict)
    before = desk.pointers()
    desk.card.total_bytes = desk.part.num_bytes - missing
    with pytest.raises(SimulatedOutOfMemory):
        desk.part.bring()
    assert (desk.part.is_placed, desk.card.used_bytes, desk.pointers()) == (False, 0, before)
    desk.card.total_bytes = ROOMY
    desk.part.bring()
    assert desk.is_unchanged()
