import pytest
import torch
from mizuoto.mizuoto_runtime import ops
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.nn.lora import AdaptableLinear, Adapter, adapted, check_adapters
from torch import nn

lora = pytest.importorskip("voxcpm.modules.layers.lora")
CPU = torch.device("cpu")


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.fixture
def model():
    made = nn.ModuleDict({"one": AdaptableLinear(6, 4), "two": ops.Linear(6, 4)})
    ops.init_random(made, torch.Generator().manual_seed(0), std=0.5)
    return made.requires_grad_(False)


ADAPTER = Adapter(draw(3, 6), draw(4, 3, seed=1), 2.5)


def test_equals_the_upstream(model):
    theirs = lora.LoRALinear(model["two"], r=3, alpha=7.5).requires_grad_(False)
    theirs.lora_A.copy_(ADAPTER.down)
    theirs.lora_B.copy_(ADAPTER.up)
    model["one"].load_state_dict(model["two"].state_dict())
    hidden = draw(2, 6, seed=2)
    with adapted(model, {"one": ADAPTER}, CPU, torch.float32):
        assert torch.equal(model["one"](hidden), theirs(hidden))
    assert torch.equal(model["one"](hidden), model["two"](hidden))


def test_an_error_inside_takes_the_adapter_off(model):
    with pytest.raises(KeyError), adapted(model, {"one": ADAPTER}, CPU, torch.float32):
        raise KeyError
    assert model["one"].adapter is None


@pytest.mark.parametrize(
    ("name", "adapter", "told"),
    [
        ("three", ADAPTER, "which this model has not"),
        ("two", ADAPTER, "which this model has not"),
        ("one", Adapter(draw(3, 5), draw(4, 3), 1.0), "whose shape is another"),
        ("one", Adapter(draw(3, 6), draw(4, 2), 1.0), "whose shape is another"),
    ],
)
def test_what_does_not_fit_is_refused(model, name, adapter, told):
    check_adapters(model, {"one": ADAPTER}, "a.safetensors")
    with pytest.raises(ModelFileError, match=f'"a.safetensors" adapts "{name}", {told}'):
        check_adapters(model, {name: adapter}, "a.safetensors")
