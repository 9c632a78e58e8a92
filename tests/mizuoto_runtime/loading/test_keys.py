import pytest
import torch
from mizuoto.mizuoto_runtime import ops
from mizuoto.mizuoto_runtime.errors import EngineError, ModelFileError
from mizuoto.mizuoto_runtime.loading.keys import load_into, replace_prefixes, strip_prefix
from torch import nn


def tensors():
    return {"0.weight": torch.ones(3, 4), "0.bias": torch.zeros(3), "1.weight": torch.ones(3), "1.bias": torch.ones(3)}


def module(device="meta"):
    with torch.device(device):
        return nn.Sequential(ops.Linear(4, 3), ops.LayerNorm(3))


def test_prefix():
    pairs = [("a.x", torch.ones(1)), ("ab.x", torch.ones(2)), ("a.a.x", torch.ones(3))]
    assert {name: len(tensor) for name, tensor in strip_prefix(pairs, "a.").items()} == {"x": 1, "a.x": 3}
    assert strip_prefix(pairs, "b.") == {}


@pytest.mark.parametrize("device", ["meta", "cpu"])
def test_tensors_become_the_parameters_without_a_copy(device):
    target, given = module(device), tensors()
    load_into(target, given, "model.safetensors")
    for name, parameter in target.named_parameters():
        assert parameter.data_ptr() == given[name].data_ptr()
        assert parameter.requires_grad
    assert target(torch.ones(1, 4)).shape == (1, 3)


def test_buffers_are_loaded_too():
    with torch.device("meta"):
        target = nn.BatchNorm1d(2)
    given = {
        "weight": torch.ones(2),
        "bias": torch.ones(2),
        "running_mean": torch.ones(2),
        "running_var": torch.ones(2),
    }
    load_into(target, {**given, "num_batches_tracked": torch.tensor(5)}, "x")
    assert target.num_batches_tracked.item() == 5
    assert not target.running_mean.is_meta


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"0.bias": None}, '"0.bias" is missing'),
        ({"extra": torch.ones(1)}, '"extra" is not part of this architecture'),
        ({"0.weight": torch.ones(4, 3)}, r'"0.weight" has shape \(4, 3\) instead of \(3, 4\)'),
        ({"0.weight": torch.ones(3, 4, dtype=torch.int8)}, '"0.weight" holds int8 instead of float32'),
        ({"0.bias": torch.ones(3, dtype=torch.complex64)}, '"0.bias" holds complex64 instead of float32'),
        ({"1.bias": torch.tensor(1.0)}, r'"1.bias" has shape \(\) instead of \(3,\)'),
    ],
)
def test_what_does_not_fit_is_named(change, problem):  # S037
    given = {name: tensor for name, tensor in {**tensors(), **change}.items() if tensor is not None}
    target = module()
    with pytest.raises(ModelFileError, match=f'"voice.safetensors" does not fit Sequential: {problem}. It belongs to'):
        load_into(target, given, "voice.safetensors")
    assert all(parameter.is_meta for parameter in target.parameters())


def test_many_problems_are_counted():
    with pytest.raises(ModelFileError, match=r"is missing \(and 1 more\)\. It belongs"):
        load_into(module(), {}, "x")


def test_replaced_prefixes():
    pairs = [("model.talker.x", 1), ("model.y", 2), ("z", 3), ("talker.x", 4)]
    assert replace_prefixes(pairs, {"model.": "", "model.talker.": "a."}) == {"a.x": 1, "y": 2, "z": 3, "talker.x": 4}
    assert replace_prefixes(pairs, {"": "p."}).keys() == {"p.model.talker.x", "p.model.y", "p.z", "p.talker.x"}
    assert replace_prefixes(pairs, {}) == dict(pairs)
    with pytest.raises(ModelFileError, match=r'two tensors for "talker.x", one of them "talker.x"'):
        replace_prefixes(pairs, {"model.": ""})


def test_only_listed_extras_are_dropped():
    given = {**tensors(), "initted": torch.ones(1), "mel_spec.window": torch.ones(1), "0.mel_spec.x": torch.ones(1)}
    with pytest.raises(ModelFileError, match=r'Sequential: "0.mel_spec.x" is not part of this architecture. It'):
        load_into(module(), given, "x", ignore=["initted", "mel_spec.*"])
    target = module()
    load_into(target, given, "x", ignore=["initted", "*mel_spec.*"])
    assert not any(parameter.is_meta for parameter in target.parameters())


def test_patterns_excuse_neither_missing_nor_misshapen_tensors():
    given = {**tensors(), "0.weight": torch.ones(4, 3)}
    del given["1.bias"]
    with pytest.raises(ModelFileError, match=r'"1.bias" is missing; "0.weight" has shape \(4, 3\)'):
        load_into(module(), given, "x", ignore=["*"])


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = ops.Embedding(5, 3), ops.Linear(3, 5, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("mean", torch.zeros(2))
        self.register_buffer("same_mean", self.mean)


@pytest.mark.parametrize("device", ["meta", "cpu"])
@pytest.mark.parametrize("names", [("embed.weight",), ("head.weight",), ("embed.weight", "head.weight")])
@pytest.mark.parametrize("means", [("mean",), ("mean", "same_mean")])
def test_tied_tensors_stay_tied(device, names, means):
    with torch.device(device):
        target = Tied()
    target.embed.weight.requires_grad_(False)
    weight = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    load_into(target, {**{name: weight.clone() for name in names}, **{name: torch.ones(2) for name in means}}, "x")
    assert target.head.weight is target.embed.weight
    assert target.same_mean is target.mean
    assert torch.equal(target.head.weight, weight)
    assert len(list(target.parameters())) == 1
    assert not target.head.weight.requires_grad
    assert torch.equal(target.mean, torch.ones(2))


def test_tied_tensors_that_differ_or_lack_are_named():
    with torch.device("meta"):
        target = Tied()
    given = {"embed.weight": torch.ones(5, 3), "head.weight": torch.zeros(5, 3), "mean": torch.ones(2)}
    with pytest.raises(
        ModelFileError, match=r'"embed.weight" and "head.weight" are one weight in this architecture but'
    ):
        load_into(target, given, "x")
    with pytest.raises(ModelFileError, match=r'Tied: "embed.weight" is missing. It'):
        load_into(target, {"mean": torch.ones(2)}, "x")
    assert target.embed.weight.is_meta


def test_one_layer_in_two_places_is_loaded_once():
    with torch.device("meta"):
        layer = ops.Linear(2, 2)
        target = nn.ModuleDict({"a": layer, "b": layer})
    load_into(target, {"a.weight": torch.ones(2, 2), "b.bias": torch.ones(2)}, "x")
    assert target["a"] is target["b"]
    assert target["a"](torch.ones(1, 2)).tolist() == [[3.0, 3.0]]


class Rotary(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("angles", torch.arange(3.0), persistent=False)
        self.filled = 0

    def fill_buffers(self):
        self.filled += 1
        self.angles = torch.arange(3.0)


class Forgetful(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("angles", torch.arange(3.0), persistent=False)


class Attribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.arange(3.0)


class Idle(Forgetful):
    def fill_buffers(self):
        pass


def test_buffers_of_no_checkpoint_are_filled_by_their_owner():
    with torch.device("meta"):
        target = nn.ModuleDict({"rotary": Rotary(), "out": ops.Linear(1, 1)})
    given = {"out.weight": torch.ones(1, 1), "out.bias": torch.ones(1)}
    with torch.inference_mode(), torch.device("meta"):
        load_into(target, given, "x")
    assert target["rotary"].angles.tolist() == [0.0, 1.0, 2.0]
    assert target["rotary"].filled == 1
    assert not any(tensor.is_inference() for tensor in (*target.parameters(), *target.buffers()))


def test_buffers_that_have_values_are_left_alone():
    target = Rotary()
    load_into(target, {}, "x")
    assert target.filled == 0


@pytest.mark.parametrize(("kind", "name"), [(Forgetful, "angles"), (Attribute, "table"), (Idle, "angles")])
def test_a_tensor_left_without_values_is_an_error(kind, name):
    with torch.device("meta"):
        target, nested = kind(), nn.ModuleDict({"part": kind()})
    with pytest.raises(
        EngineError, match=f'"{name}" of {kind.__name__} has no values: .* and {kind.__name__} has no fill'
    ):
        load_into(target, {}, "x")
    with pytest.raises(EngineError, match=f'"part.{name}" of ModuleDict has no values'):
        load_into(nested, {}, "x")


def test_recurrent_layers_use_what_was_loaded():
    given = nn.LSTM(2, 3).state_dict()
    with torch.device("meta"):
        target = nn.LSTM(2, 3)
    load_into(target, given, "x")
    hidden = torch.ones(4, 1, 2)
    reference = nn.LSTM(2, 3)
    reference.load_state_dict(given)
    assert torch.equal(target(hidden)[0], reference(hidden)[0])
