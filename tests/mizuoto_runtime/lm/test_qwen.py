"""The decoder against transformers' own, bit for bit: prefill and steps, padded batches, both families."""

from __future__ import annotations

import pytest
import torch

transformers = pytest.importorskip("transformers")

from mizuoto.mizuoto_runtime import ops  # noqa: E402
from mizuoto.mizuoto_runtime.errors import ModelFileError  # noqa: E402
from mizuoto.mizuoto_runtime.lm.cache import GrowingCache, StaticCache  # noqa: E402
from mizuoto.mizuoto_runtime.lm.qwen import QwenConfig, QwenDecoder  # noqa: E402

CPU = torch.device("cpu")
STEPS = 40
CONFIG = {
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "rope_theta": 1e6,
    "rms_norm_eps": 1e-6,
    "vocab_size": 31,
    "hidden_act": "silu",
}
QWEN2 = {**{key: value for key, value in CONFIG.items() if key != "head_dim"}, "hidden_size": 64}


def draw(*shape, seed):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def pair(config=CONFIG, family="Qwen3", dtype=torch.float32):
    """transformers' model and ours with the same random weights."""
    settings = getattr(transformers, f"{family}Config")(**config, attn_implementation="sdpa")
    theirs = getattr(transformers, f"{family}Model")(settings).eval().requires_grad_(False)
    ops.init_random(theirs, torch.Generator().manual_seed(0), std=0.2)
    is_qwen2 = family == "Qwen2"
    shape = QwenConfig.from_json(config, "test:lm", has_qk_norm=not is_qwen2, has_qkv_bias=is_qwen2)
    ours = QwenDecoder(shape).eval().requires_grad_(False)
    state = {name: tensor for name, tensor in theirs.state_dict().items() if name != "embed_tokens.weight"}
    ours.load_state_dict(state)  # strict: every key but the embedding has its own name with us
    frequencies = theirs.rotary_emb.inv_freq
    theirs.to(dtype)
    theirs.rotary_emb.inv_freq = frequencies  # stays float32 in a model that is loaded in half precision
    return theirs, ours.to(dtype)


def chunks(batch, width, prompt=9, seed=1, dtype=torch.float32):
    """A prompt and single steps, [B, T, width] each."""
    return [draw(batch, length, width, seed=seed + n).to(dtype) for n, length in enumerate([prompt] + [1] * STEPS)]


def theirs_run(model, inputs, mask=None):
    cache, outputs = transformers.DynamicCache(config=model.config), []
    for embeddings in inputs:
        positions = None
        if mask is not None:
            if outputs:
                mask = torch.cat((mask, mask.new_ones(mask.shape[0], 1)), 1)
            positions = (mask.cumsum(-1) - 1).masked_fill(mask == 0, 1)[:, -embeddings.shape[1] :]
        done = model(inputs_embeds=embeddings, attention_mask=mask, position_ids=positions, past_key_values=cache)
        outputs.append(done.last_hidden_state)
    return outputs


def ours_run(model, inputs, cache):
    return [model(embeddings, cache) for embeddings in inputs]


def assert_equal(ours, theirs):
    assert [torch.equal(left, right) for left, right in zip(ours, theirs, strict=True)] == [True] * len(theirs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize(("family", "config"), [("Qwen3", CONFIG), ("Qwen2", QWEN2)], ids=["Qwen3", "Qwen2"])
@torch.inference_mode()
def test_prefill_and_steps_equal_transformers(family, config, dtype):
    theirs, ours = pair(config, family, dtype)
    inputs = chunks(1, config["hidden_size"], dtype=dtype)
    assert_equal(ours_run(ours, inputs, GrowingCache()), theirs_run(theirs, inputs))


@pytest.mark.parametrize("head_dim", [8, 24, 64])
@torch.inference_mode()
def test_every_head_width_and_growth_of_the_cache_equals_transformers(head_dim):
    theirs, ours = pair({**CONFIG, "head_dim": head_dim})
    inputs = chunks(2, 48, prompt=61)  # the steps cross the end of the first block
    assert_equal(ours_run(ours, inputs, GrowingCache()), theirs_run(theirs, inputs))
    assert_equal(ours_run(ours, inputs, GrowingCache(reserve=200)), theirs_run(theirs, inputs))


@torch.inference_mode()
def test_left_padded_batch_equals_transformers_at_every_position_that_is_no_padding():
    theirs, ours = pair()
    inputs, num_padding = chunks(3, 48), torch.tensor([4, 0, 2])
    mask = (torch.arange(9) >= num_padding[:, None]).long()
    expected = theirs_run(theirs, inputs, mask)
    found = ours_run(ours, inputs, GrowingCache(num_padding))
    assert torch.equal(found[0][mask.bool()], expected[0][mask.bool()])
    assert_equal(found[1:], expected[1:])


@torch.inference_mode()
def test_padding_does_not_change_what_a_row_says():
    _, ours = pair()
    prompt, *steps = chunks(1, 48)
    alone = ours_run(ours, [prompt, *steps], GrowingCache())
    padded = torch.cat((draw(1, 3, 48, seed=90), prompt), 1)
    beside = ours_run(ours, [padded, *steps], GrowingCache(torch.tensor([3])))
    torch.testing.assert_close(beside[0][:, 3:], alone[0])
    torch.testing.assert_close(beside[1:], alone[1:])


@torch.inference_mode()
def test_second_prompt_behind_the_first_equals_transformers():
    theirs, ours = pair()
    inputs = [draw(1, 9, 48, seed=1), draw(1, 5, 48, seed=2), draw(1, 1, 48, seed=3)]
    assert_equal(ours_run(ours, inputs, GrowingCache()), theirs_run(theirs, inputs))


@pytest.mark.parametrize("num_padding", [None, torch.tensor([4, 0, 2])], ids=["full", "padded"])
@torch.inference_mode()
def test_static_cache_says_the_same_within_rounding(num_padding):
    _, ours = pair()
    inputs = chunks(3, 48)
    growing = ours_run(ours, inputs, GrowingCache(num_padding))
    static = StaticCache((3, 3, 2, 64, 16), CPU, torch.float32, num_padding)
    for left, right in zip(ours_run(ours, inputs, static), growing, strict=True):
        torch.testing.assert_close(left[:, -1], right[:, -1])
        assert torch.equal(left[:, -1].argmax(-1), right[:, -1].argmax(-1))


@torch.inference_mode()
def test_prefill_does_not_read_the_layers_of_another():
    _, ours = pair()
    seen = []
    for index, layer in enumerate(ours.layers):
        layer.register_forward_pre_hook(lambda *_, index=index: seen.append(index))
    ours(draw(1, 4, 48, seed=1), GrowingCache())
    assert seen == [0, 1, 2]


@pytest.mark.parametrize("key", [key for key in CONFIG if key not in ("head_dim", "vocab_size", "hidden_act")])
def test_missing_key_of_a_configuration_is_named(key):
    with pytest.raises(ModelFileError, match=f'"{key}"'):
        QwenConfig.from_json({name: value for name, value in CONFIG.items() if name != key}, "test:lm")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hidden_size", "48"),
        ("num_hidden_layers", 0),
        ("num_attention_heads", True),
        ("head_dim", 2.5),
        ("rms_norm_eps", None),
        ("hidden_act", "gelu"),
        ("use_sliding_window", True),
        ("attention_bias", True),
    ],
)
def test_configuration_that_cannot_be_computed_is_refused(key, value):
    with pytest.raises(ModelFileError, match=f'"{key}"'):
        QwenConfig.from_json({**CONFIG, key: value}, "test:lm")


def test_scaled_rotary_positions_are_refused_and_plain_ones_are_not():
    with pytest.raises(ModelFileError, match="yarn"):
        QwenConfig.from_json({**CONFIG, "rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, "test:lm")
    config = {key: value for key, value in CONFIG.items() if key != "rope_theta"}
    config["rope_parameters"] = {"rope_type": "default", "rope_theta": 1e4}
    assert QwenConfig.from_json(config, "test:lm").rope_theta == 1e4


def test_head_width_follows_from_the_heads_where_it_is_not_stated():
    assert QwenConfig.from_json(QWEN2, "test:lm").head_dim == 16


def test_heads_that_cannot_be_shared_are_refused():
    with pytest.raises(ModelFileError, match="cannot share"):
        QwenDecoder(QwenConfig.from_json({**CONFIG, "num_key_value_heads": 3}, "test:lm"))
