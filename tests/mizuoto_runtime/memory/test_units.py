from functools import partial

import pytest
import torch
from mizuoto.mizuoto_runtime.errors import EngineError
from mizuoto.mizuoto_runtime.memory.units import STREAMABLE, layout_of, nowhere
from mizuoto.tests.mizuoto_runtime.memory import zoo
from mizuoto.tests.mizuoto_runtime.memory.zoo import UNIT, WIDTH, ZOO, Chain, linear
from torch import nn


@pytest.fixture(params=ZOO)
def species(request):
    return request.param


def names(weights):
    return [weight.name for weight in weights]


def test_units_of_the_zoo(species):  # S113-S116
    layout = layout_of(zoo.built(species))
    assert {unit.name: unit.num_bytes for unit in layout.units} == ZOO[species].units


def test_every_weight_is_in_exactly_one_place(species):
    module = zoo.built(species)
    layout = layout_of(module)
    weights = [*layout.fixed, *(weight for unit in layout.units for weight in unit.weights)]
    moving = {id(weight.tensor) for weight in weights}
    assert len(moving) == len(weights)
    assert layout.size_bytes == sum(weight.tensor.nbytes for weight in weights)
    staying = {id(tensor) for name, tensor in module.named_parameters() if name.startswith("aside.")}
    assert moving | staying == {id(tensor) for tensor in (*module.parameters(), *module.buffers())}
    assert moving.isdisjoint(staying)  # S015


def test_only_layer_weights_are_in_units(species):
    for unit in layout_of(zoo.built(species)).units:
        for weight in unit.weights:
            owner, attribute = weight.owners[0]
            assert attribute == "weight"
            assert not weight.is_buffer
            assert isinstance(owner, STREAMABLE) or owner.STREAMABLE


def test_the_first_parameter_is_fixed(species):  # S116
    module = zoo.built(species)
    first = next(module.parameters(), None)
    if first is not None:
        assert any(weight.tensor is first for weight in layout_of(module).fixed)


def test_fixed_part_by_name():
    fixed = names(layout_of(zoo.built("streamable")).fixed)
    assert fixed == ["norm.weight", "norm.bias", "layers.0.table", "layers.1.bias"]


def test_tied_weights_have_every_owner_and_count_once():
    module = zoo.built("tied")
    layout = layout_of(module)
    tied = next(weight for weight in layout.fixed if weight.name == "embedding.weight")
    assert tied.owners == ((module.embedding, "weight"), (module.layers[1], "weight"))
    assert layout.fixed_bytes == UNIT + 4 * WIDTH  # one of the two, and a bias


def test_a_layer_between_two_units_is_fixed():
    module = zoo.built("shared_layer")
    fixed = {id(weight.tensor) for weight in layout_of(module).fixed}
    assert id(module.layers[0].second.weight) in fixed
    assert id(module.layers[0].first.weight) not in fixed


def test_a_unit_needs_64_kb():
    def units(features):
        module = Chain([nn.Sequential(nn.Embedding(WIDTH, WIDTH), nn.Linear(WIDTH, features, bias=False))])
        return layout_of(module).units

    assert [unit.num_bytes for unit in units(32)] == [64 << 10]
    assert units(31) == ()


def test_marks_cover_children():  # S117
    module = zoo.built("nested")
    layout = layout_of(module, {module.layers[0]: "fixed", module.layers[1][0][0]: "hot"})
    assert [(unit.name, unit.is_hot) for unit in layout.units] == [("layers.1", True)]
    assert {"layers.0.0.weight", "layers.0.1.weight"} <= set(names(layout.fixed))


def test_a_mark_on_the_parent_makes_every_unit_hot():
    module = zoo.built("chain")
    assert all(unit.is_hot for unit in layout_of(module, {module.layers: "hot"}).units)
    assert not any(unit.is_hot for unit in layout_of(module).units)


def test_unknown_marks_are_refused():
    module = zoo.built("chain")
    with pytest.raises(EngineError, match='Unknown mark "warm" on a module; use one of hot, fixed'):
        layout_of(module, {module.layers[0]: "warm"})


def test_memory_units_must_name_submodules():
    class Wrong(Chain):
        def memory_units(self):
            return ["layers.7"]

    with pytest.raises(EngineError, match=r'Wrong.memory_units\(\) names "layers.7", which is no submodule'):
        layout_of(nn.ModuleDict({"part": Wrong([linear()])}))


def test_weights_are_pointed_at_for_all_owners():
    module = zoo.built("tied")
    tied = layout_of(module).fixed[0]
    parameter, value = tied.tensor, torch.ones(WIDTH, WIDTH)
    tied.point_at(value)
    assert module.layers[1].weight is module.embedding.weight is parameter  # identity is kept
    assert parameter.data_ptr() == value.data_ptr()
    tied.point_at(nowhere(value.shape, value.dtype))
    assert module.layers[1].weight is module.embedding.weight is parameter
    assert isinstance(parameter, nn.Parameter)


@pytest.mark.parametrize("is_grad", [True, False])
def test_away_and_back_keeps_requires_grad(is_grad):
    module = zoo.built("chain").requires_grad_(is_grad)
    weight = layout_of(module).units[0].weights[0]
    for value in (nowhere(weight.tensor.shape, weight.tensor.dtype), torch.zeros(WIDTH, WIDTH)):
        weight.point_at(value)
        assert module.layers[0].weight.requires_grad == is_grad


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.complex64])
def test_nowhere_is_nan_and_takes_no_memory(dtype):
    tensor = nowhere(torch.Size((300, 2)), dtype)
    assert (tensor.shape, tensor.dtype, tensor.untyped_storage().nbytes()) == ((300, 2), dtype, dtype.itemsize)
    assert tensor.to(torch.complex64).isnan().all()
    with torch.inference_mode():
        assert not nowhere(torch.Size((1,)), dtype).is_inference()


def test_nowhere_in_integers_is_no_index():
    assert nowhere(torch.Size((3,)), torch.bool).all()
    for dtype in (torch.int64, torch.int32, torch.int8, torch.uint8):
        assert nowhere(torch.Size((3,)), dtype).tolist() == [torch.iinfo(dtype).max] * 3
    with pytest.raises(IndexError):
        torch.zeros(9)[nowhere(torch.Size((3,)), torch.int64)]


def calls_of_units(module):
    """Names of units that were running when another one began, over one forward."""
    running, nested = [], []

    def begin(name, *_):
        nested.extend(running)
        running.append(name)

    def end(*_):
        running.pop()

    for unit in layout_of(module).units:
        unit.module.register_forward_pre_hook(partial(begin, unit.name))
        unit.module.register_forward_hook(end)
    module(zoo.example())
    return nested


def test_no_unit_runs_inside_another(species):
    assert calls_of_units(zoo.built(species)) == []


def test_a_unit_named_inside_another_is_none():
    class Twice(Chain):
        def memory_units(self):
            return ["layers.0", "layers.0.0", "layers.1"]

    module = zoo.built(zoo.Species(lambda: Twice([nn.Sequential(linear(), linear()), linear()]), {}))
    layout = layout_of(module)
    assert [unit.name for unit in layout.units] == ["layers.0", "layers.1"]
    assert names(layout.units[0].weights) == ["layers.0.1.weight"]  # what both claim stays in place
    assert calls_of_units(module) == []
