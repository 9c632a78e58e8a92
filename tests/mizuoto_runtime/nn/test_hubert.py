import pytest
import torch
from mizuoto.mizuoto_runtime import ops
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.loading.weight_norm import fold_weight_norm
from mizuoto.mizuoto_runtime.nn.hubert import Hubert, HubertConfig
from transformers import HubertConfig as HfConfig
from transformers import HubertModel

JSON = {
    **{"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4},
    **{"conv_dim": [16] * 3, "conv_kernel": [10, 3, 2], "conv_stride": [5, 2, 2], "num_feat_extract_layers": 3},
    **{"num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 4, "layer_norm_eps": 1e-5, "conv_bias": False},
    **{"feat_extract_norm": "group", "feat_extract_activation": "gelu", "hidden_act": "gelu"},
    **{"do_stable_layer_norm": False, "feat_proj_layer_norm": True, "conv_pos_batch_norm": False},
}


def both(**changes):
    config = HfConfig(**{**JSON, **changes})
    config._attn_implementation = "sdpa"
    reference = HubertModel(config).eval().requires_grad_(False)
    ops.init_random(reference, torch.Generator().manual_seed(0), std=0.2)
    state = fold_weight_norm(reference.state_dict())
    ours = Hubert(HubertConfig.from_json({**JSON, **changes}), "test:hubert").requires_grad_(False)
    ours.load_state_dict({name: state[name] for name in ours.state_dict()})
    return reference, ours


@pytest.mark.parametrize("taps", [8, 7])
@pytest.mark.parametrize("length", [40, 1000, 3333])
def test_every_state_equals_transformers(length, taps):
    reference, ours = both(num_conv_pos_embeddings=taps)
    waveform = torch.randn(2, length, generator=torch.Generator().manual_seed(length))
    expected = reference(waveform, output_hidden_states=True)
    states = list(ours(waveform))
    assert len(states) == len(expected.hidden_states) == 4
    assert all(torch.equal(one, other) for one, other in zip(states, expected.hidden_states, strict=True))
    assert torch.equal(states[-1], expected.last_hidden_state)
    assert len(states[-1].unique()) > 30


def test_every_unit_is_a_part():
    ours = both()[1]
    parts = {ours.get_submodule(name) for name in ours.memory_units()}
    assert len(parts) == 3 + 1 + 3


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"feat_extract_norm": "layer"}, "feat_extract_norm"),
        ({"do_stable_layer_norm": True}, "do_stable_layer_norm"),
        ({"conv_kernel": [10, 3]}, "contradicts itself"),
        ({"num_attention_heads": 5}, "contradicts itself"),
        ({"conv_dim": None}, "conv_dim"),
    ],
)
def test_another_kind_is_refused(changes, named):
    with pytest.raises(ModelFileError, match=named):
        HubertConfig.from_json({**JSON, **changes})
