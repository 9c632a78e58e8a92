"""The transformer against the upstream's, bit for bit: prefill and steps with its full cache, and none."""

import pytest
import torch
from mizuoto.mizuoto_runtime import ops
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.lm.cache import PaddedCache, WholeSequence
from mizuoto.mizuoto_runtime.lm.minicpm import LongRope, MiniCpm, MiniCpmConfig

minicpm4 = pytest.importorskip("voxcpm.modules.minicpm4")

CONFIG = {
    **{"bos_token_id": 1, "eos_token_id": 2, "vocab_size": 0, "hidden_size": 64, "intermediate_size": 96},
    **{"num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2, "rms_norm_eps": 1e-5},
    **{"max_position_embeddings": 512, "rope_theta": 10000.0, "kv_channels": 32, "scale_emb": 12.0},
    **{"use_mup": False, "dim_model_base": 256, "scale_depth": 1.4, "no_rope": False},
    "rope_scaling": {
        "type": "longrope",
        "long_factor": [1.0 + 0.1 * index for index in range(16)],
        "short_factor": [1.0 + 0.03 * index for index in range(16)],
        "original_max_position_embeddings": 512,
    },
}
LENGTH = 256  # of the upstream's cache


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def pair(dtype=torch.float32, **changes):
    """The upstream's model and ours with the same random weights."""
    config = {**CONFIG, **changes}
    theirs = minicpm4.MiniCPMModel(minicpm4.MiniCPM4Config(**config)).eval()
    ops.init_random(theirs, torch.Generator().manual_seed(0), std=0.2)
    theirs.setup_cache(1, LENGTH, "cpu", dtype)
    shape = MiniCpmConfig(
        "test:lm", 64, 96, 2, 4, 2, 32, 1e-5,
        None if config["no_rope"] else LongRope.from_json(config, 32),
        1.4 / 2**0.5 if config["use_mup"] else None,
    )  # fmt: skip
    ours = MiniCpm(shape)
    ours.load_state_dict(theirs.state_dict())
    return theirs.to(dtype), ours.to(dtype)


CHANGES = [{}, {"use_mup": True}, {"no_rope": True}, {"max_position_embeddings": 1024}, {"dtype": torch.bfloat16}]


@pytest.mark.parametrize("changes", CHANGES, ids=["plain", "mup", "no rope", "long factors", "bfloat16"])
@pytest.mark.parametrize("read", [5, 60])
@torch.inference_mode()
def test_a_decoder_equals_the_upstream_with_its_full_cache(changes, read):
    theirs, ours = pair(**changes)
    dtype = changes.get("dtype", torch.float32)
    cache, prompt = PaddedCache(), draw(1, read, 64).to(dtype)
    expected, kept = theirs(prompt, is_causal=True)
    theirs.kv_cache.fill_caches(kept)
    assert torch.equal(ours(prompt, cache), expected)
    for number in range(10):
        step = draw(1, 64, seed=number).to(dtype)
        expected = theirs.forward_step(step, torch.tensor([theirs.kv_cache.step()]))
        assert torch.equal(ours(step[:, None], cache)[:, 0], expected), number


@pytest.mark.parametrize("shape", [(1, 5), (2, 11), (40, 5)])
@torch.inference_mode()
def test_an_encoder_equals_the_upstream(shape):
    theirs, ours = pair()
    hidden = draw(*shape, 64)
    assert torch.equal(ours(hidden, WholeSequence()), theirs(hidden, is_causal=False)[0])


@pytest.mark.parametrize("factors", [None, [1.0] * 15, [1.0] * 15 + [0.0], [1.0] * 15 + ["1"]])
def test_factors_that_are_none_are_refused(factors):
    scaling = {**CONFIG["rope_scaling"], "short_factor": factors}
    with pytest.raises(ModelFileError, match='no "short_factor" of 16 numbers above 0'):
        LongRope.from_json({**CONFIG, "rope_scaling": scaling}, 32)
