import pytest
import torch
from mizuoto.mizuoto_runtime import ops
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.nn.mimi import MimiConfig, MimiEncoder
from transformers import MimiConfig as HfConfig
from transformers import MimiModel

JSON = {
    **{"audio_channels": 1, "hidden_size": 32, "num_filters": 4, "num_residual_layers": 2, "kernel_size": 7},
    **{"upsampling_ratios": [4, 3], "last_kernel_size": 3, "residual_kernel_size": 3, "dilation_growth_rate": 2},
    **{"compress": 2, "codebook_size": 16, "codebook_dim": 8, "num_quantizers": 6, "num_semantic_quantizers": 2},
    **{"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8},
    **{"intermediate_size": 48, "norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "gelu"},
    **{"use_causal_conv": True, "use_conv_shortcut": False, "pad_mode": "constant"},
}
RENAMES = (
    ("encoder_transformer.layers.", "layers."),
    ("encoder.layers.", "convs."),
    (".conv.", "."),
    ("_residual_vector_quantizer", ""),
    (".self_attn_layer_scale.scale", ".attention_scale"),
    (".mlp_layer_scale.scale", ".feed_forward_scale"),
    (".self_attn.", ".attention."),
    (".input_layernorm.", ".attention_norm."),
    (".post_attention_layernorm.", ".feed_forward_norm."),
    (".mlp.fc1.", ".feed_forward.expand."),
    (".mlp.fc2.", ".feed_forward.project."),
)


@pytest.fixture(scope="module")
def reference():
    rate = 24 * 12.5 * 2
    config = HfConfig(
        **JSON, sampling_rate=rate, frame_rate=rate / 24, vector_quantization_hidden_dimension=8, upsample_groups=32
    )
    config._attn_implementation = "sdpa"
    model = MimiModel(config).eval().requires_grad_(False)
    ops.init_random(model, torch.Generator().manual_seed(0), std=0.3)
    for name, buffer in model.named_buffers():
        if name.endswith("embed_sum"):
            buffer.normal_(generator=torch.Generator().manual_seed(len(name)))
    return model


@pytest.fixture(scope="module")
def encoder(reference):
    module = MimiEncoder(MimiConfig.from_json(JSON), "test:codec")
    state = {}
    for key, tensor in reference.state_dict().items():
        for old, new in RENAMES:
            key = key.replace(old, new)
        if key.endswith(".codebook.embed_sum"):
            # All of them were used once: the sums are the entries.
            key = key.replace(".layers.", ".codebooks.").replace(".codebook.embed_sum", ".weight")
        state[key] = tensor
    module.load_state_dict({name: state[name] for name in module.state_dict()})
    return module.requires_grad_(False)


@pytest.mark.parametrize("length", [1, 48, 49, 1000, 24 * 300])
def test_codes_equal_transformers(length, encoder, reference):
    waveform = torch.randn(2, 1, length, generator=torch.Generator().manual_seed(length))
    codes = encoder(waveform)
    assert codes.shape == (2, 6, -(-length // encoder.config.hop_length))
    assert torch.equal(codes, reference.encode(waveform).audio_codes)
    assert length < 1000 or len(codes.unique()) > 8


def test_fewer_codebooks_are_the_first_ones(encoder):
    fewer = MimiEncoder(MimiConfig.from_json(JSON, num_codebooks=3), "test:codec").requires_grad_(False)
    fewer.load_state_dict({name: encoder.state_dict()[name] for name in fewer.state_dict()})
    waveform = torch.randn(1, 1, 500, generator=torch.Generator().manual_seed(1))
    assert torch.equal(fewer(waveform), encoder(waveform)[:, :3])


@pytest.mark.parametrize("key", ["num_filters", "upsampling_ratios", "norm_eps", "num_quantizers"])
def test_a_missing_key_is_named(key):
    with pytest.raises(ModelFileError, match=f'"{key}"'):
        MimiConfig.from_json({name: value for name, value in JSON.items() if name != key})


@pytest.mark.parametrize(
    ("key", "value"), [("use_causal_conv", False), ("use_conv_shortcut", True), ("hidden_act", "x")]
)
def test_another_encoder_is_refused(key, value):
    with pytest.raises(ModelFileError, match=f'codec encoder has "{key}"'):
        MimiConfig.from_json({**JSON, key: value})
