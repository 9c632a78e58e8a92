"""Both networks give the bits of the upstream ones in float32 on the CPU."""

import pytest
import torch
from mizuoto.engines.whisper.decoder import Hearing, WindowState, alignment_scores
from mizuoto.engines.whisper.features import log_mel
from mizuoto.tests.engines.whisper import oracle
from mizuoto.tests.engines.whisper.clips import read
from mizuoto.tests.engines.whisper.conftest import REAL
from whisper.model import disable_sdpa

PROMPT, STEPS = [50257, 50362], (400, 1770, 13, 1757, 11, 257, 3110, 13)


@pytest.fixture(scope="module")
def mel():
    return log_mel(read("austen-0870"), 80)[None, :, :3000]


@pytest.fixture(scope="module")
@torch.inference_mode()
def features(mel):
    """Of openai-whisper."""
    return oracle.openai(REAL).encoder(mel)


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.inference_mode():
        yield


def steps_of(decoder, features, tokens, rows=1):
    """Logits of a first step of some tokens and of single ones behind it."""
    state = WindowState(decoder, Hearing(features), rows)
    return [state.logits(torch.tensor([step])) for step in tokens]


def test_features_equal_openai_whisper(real, mel, features):
    assert torch.equal(real.encoder.module(mel), features)


def test_logits_equal_openai_whisper(real, features):
    theirs = oracle.openai(REAL)
    tokens = [PROMPT, *([step] for step in STEPS)]
    cache, hooks = theirs.install_kv_cache_hooks()
    try:
        expected = [theirs.decoder(torch.tensor([step]), features, kv_cache=cache) for step in tokens]
    finally:
        for hook in hooks:
            hook.remove()
    for found, logits in zip(steps_of(real.decoder.module, features, tokens), expected, strict=True):
        assert torch.equal(found, logits)


def test_alignment_scores_are_those_of_openai_whisper(real, features):
    theirs, tokens = oracle.openai(REAL), torch.tensor([*PROMPT, *STEPS])
    scores = [torch.empty(0)] * 4
    hooks = [
        block.cross_attn.register_forward_hook(lambda _, ins, outs, i=index: scores.__setitem__(i, outs[1][0]))
        for index, block in enumerate(theirs.decoder.blocks)
    ]
    with disable_sdpa():
        logits = theirs.decoder(tokens[None], features)[0]
    for hook in hooks:
        hook.remove()
    expected = torch.stack([scores[layer][head] for layer, head in theirs.alignment_heads.indices().T])
    found, found_logits = alignment_scores(real.decoder.module, features, tokens)
    # Theirs go without the fused kernel here, which rounds otherwise.
    assert torch.allclose(found, expected, rtol=0, atol=2e-3)
    assert torch.allclose(found_logits, logits, rtol=0, atol=2e-3)


@pytest.mark.parametrize("num_mels", [80, 128])
def test_both_networks_equal_transformers(checkpoint, load, num_mels):
    folder = checkpoint(num_mels=num_mels)
    ours, theirs = load(folder), oracle.transformers(folder)
    mel = torch.randn(1, num_mels, 3000, generator=torch.Generator().manual_seed(1))
    features = theirs.model.encoder(mel).last_hidden_state
    assert torch.equal(ours.encoder.module(mel), features)
    tokens, past, expected = [[7, 270, 3], [5], [1700], [9]], None, []
    for step in tokens:
        out = theirs(
            encoder_outputs=(features,), decoder_input_ids=torch.tensor([step]), past_key_values=past, use_cache=True
        )
        past = out.past_key_values
        expected.append(out.logits)
    for found, logits in zip(steps_of(ours.decoder.module, features, tokens), expected, strict=True):
        assert torch.equal(found, logits)


def test_rows_go_on_from_each_other(checkpoint, load):
    decoder = load(checkpoint()).decoder.module
    features = torch.randn(1, 1500, 64, generator=torch.Generator().manual_seed(2))
    texts = [[4, 5, 6], [4, 7, 8], [4, 9, 10]]
    state = WindowState(decoder, Hearing(features), 3)
    state.logits(torch.tensor([[4]]))
    state.logits(torch.tensor([[text[1]] for text in texts]))
    state.reorder([2, 0, 0])
    found = state.logits(torch.tensor([[10], [6], [8]]))
    for row, text in zip(found, ([4, 9, 10], [4, 5, 6], [4, 5, 8]), strict=True):
        alone = steps_of(decoder, features, [[token] for token in text])[-1]
        assert torch.allclose(row, alone[0], rtol=0, atol=1e-4)


def test_attempts_at_one_window_share_its_keys(checkpoint, load):
    model = load(checkpoint())
    features = torch.randn(1, 1500, 64, generator=torch.Generator().manual_seed(2))
    hearing = Hearing(features)
    first = WindowState(model.decoder.module, hearing, 1).logits(torch.tensor([[4]]))
    made = dict(hearing.keys_values)
    second = WindowState(model.decoder.module, hearing, 1).logits(torch.tensor([[4]]))
    assert torch.equal(first, second)
    assert all(hearing.keys_values[layer] is made[layer] for layer in made)
