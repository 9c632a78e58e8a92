import pytest
import torch
from mizuoto.mizuoto_runtime import ops
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.loading.keys import load_into, strip_prefix
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
