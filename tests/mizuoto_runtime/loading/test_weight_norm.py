import warnings

import pytest
import torch
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.loading.weight_norm import fold_weight_norm
from torch import nn
from torch.nn.utils import weight_norm as hooked
from torch.nn.utils.parametrizations import weight_norm as parametrized


def normed(wrap, build, dtype, **options):
    """(state dict, weight as the hook computes it) of a layer under weight norm with uneven gains."""
    torch_layer = build()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layer = wrap(torch_layer, **options)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    layer.to(dtype)
    for hook in layer._forward_pre_hooks.values():
        hook(layer, None)
    return {name: tensor.detach().clone() for name, tensor in layer.state_dict().items()}, layer


@pytest.mark.parametrize("wrap", [hooked, parametrized])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    ("build", "dim"),
    [
        (lambda: nn.Conv1d(24, 40, 7), 0),
        (lambda: nn.Conv1d(24, 40, 7), 1),
        (lambda: nn.Conv1d(24, 40, 128), 2),  # HuBERT's positional convolution
        (lambda: nn.Conv1d(24, 40, 7), None),
        (lambda: nn.Conv1d(24, 1, 7), 0),
        (lambda: nn.ConvTranspose1d(24, 40, 8), 0),
        (lambda: nn.ConvTranspose1d(24, 40, 8), 1),
        (lambda: nn.Linear(33, 65), 0),
        (lambda: nn.Conv2d(1, 32, (5, 1)), 0),
    ],
)
def test_the_fold_has_the_bits_of_the_hook(wrap, dtype, build, dim):
    state, layer = normed(wrap, build, dtype, dim=dim)
    with torch.inference_mode():
        folded = fold_weight_norm(state)
    assert not folded["weight"].is_inference()
    assert folded.keys() == build().state_dict().keys()
    assert torch.equal(folded["weight"], layer.weight)
    assert torch.equal(folded["bias"], layer.bias)
    assert folded["weight"].data_ptr() % 64 == 0
    assert not folded["weight"].requires_grad


def test_the_bits_are_not_those_of_the_formula():
    # Otherwise the tests above could not tell the two.
    state, layer = normed(hooked, lambda: nn.Conv1d(24, 40, 7), torch.float32)
    direction = state["weight_v"]
    formula = direction * (state["weight_g"] / direction.norm(dim=(1, 2), keepdim=True))
    assert not torch.equal(formula, layer.weight)
    torch.testing.assert_close(formula, layer.weight)


@pytest.mark.parametrize("wrap", [hooked, parametrized])
def test_other_weights_than_the_one_called_weight(wrap):
    state, layer = normed(wrap, lambda: nn.LSTM(8, 6), torch.float32, name="weight_hh_l0")
    folded = fold_weight_norm({f"net.rnn.{name}": tensor for name, tensor in state.items()})
    assert torch.equal(folded["net.rnn.weight_hh_l0"], layer.weight_hh_l0)
    assert folded.keys() == {f"net.rnn.{name}" for name in nn.LSTM(8, 6).state_dict()}


def test_many_layers_of_a_model_and_everything_else_stays():
    model = nn.Sequential(parametrized(nn.Conv1d(3, 4, 2)), nn.ReLU(), nn.Linear(2, 2), nn.Conv1d(4, 5, 2))
    state = {f"dec.{name}": tensor for name, tensor in model.state_dict().items()}
    folded = fold_weight_norm(iter(state.items()))
    assert folded.keys() == {f"dec.{index}.{leaf}" for index in (0, 2, 3) for leaf in ("weight", "bias")}
    assert torch.equal(folded["dec.0.weight"], model[0].weight)
    assert folded["dec.2.weight"] is state["dec.2.weight"]
    assert "dec.0.parametrizations.weight.original0" in state


def test_lonely_and_unrelated_names_stay():
    names = ["a.weight_g", "b.weight_v", "bias_g", "bias_v", "parametrizations.weight.original1", "x.original0",
             "x.original1", "y.parametrizations.weight.original", "z_weight_g"]  # fmt: skip
    tensors = {name: torch.ones(2) for name in names}
    assert fold_weight_norm(tensors) == tensors


@pytest.mark.parametrize("shape", [(2, 1, 1), (3, 4, 1), (1, 1), (3,)])
def test_gains_that_do_not_fit_are_named(shape):
    with pytest.raises(
        ModelFileError, match=r'"a.weight_g" of shape .* is no gain for "a.weight_v" of shape \(3, 4, 5\)'
    ):
        fold_weight_norm({"a.weight_g": torch.ones(shape), "a.weight_v": torch.ones(3, 4, 5)})


def test_a_weight_beside_its_parts_is_named():
    parts = {"weight_g": torch.ones(2, 1), "weight_v": torch.ones(2, 3), "weight": torch.ones(2, 3)}
    with pytest.raises(ModelFileError, match=r'both "weight" and its parts "weight_g"'):
        fold_weight_norm(parts)
