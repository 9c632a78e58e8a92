from pathlib import Path

import pytest
import torch
from mizuoto.engines.hibari import keys
from mizuoto.mizuoto_runtime.loading.safetensors import read_safetensors

CHECKPOINT = Path(keys.__file__).parent / "assets" / "hibari_heart.f16.safetensors"
NUM_PARAMETERS = 6_152_898


def test_shipped_weights_are_the_wheels_rounded_to_float16(wheel_state):
    shipped = dict(read_safetensors(CHECKPOINT))
    assert shipped.keys() == wheel_state.keys()
    for key, tensor in shipped.items():
        assert tensor.dtype == torch.float16
        assert torch.equal(tensor, wheel_state[key].half()), key


def test_each_component_holds_only_its_own_weights(talker, decoder):
    sizes = [sum(parameter.numel() for parameter in module.parameters()) for module in (talker, decoder)]
    assert sum(sizes) == NUM_PARAMETERS
    assert not {id(p) for p in talker.parameters()} & {id(p) for p in decoder.parameters()}


@pytest.mark.parametrize(
    ("key", "place"),
    [
        ("pn.text.attn.self_attn.in_proj_bias", ("talker", "text.layer.attention.qkv.bias")),
        ("pn.pro.3.pw1.weight", ("talker", "blocks.3.expand.weight")),
        ("pn.pro_in.weight", ("talker", "prosody_in.weight")),
        ("m.dec.7.gamma", ("decoder", "blocks.7.gamma")),
        ("m.dec_norm.weight", ("decoder", "norm.weight")),
        ("m.text.convs.1.dw.weight", ("decoder", "text.convs.1.depthwise.weight")),
        ("bert.embeddings.weight", None),
    ],
)
def test_rename(key, place):
    assert keys.rename(key) == place
