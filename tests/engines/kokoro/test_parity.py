"""The real model, streamed to the last unit, against the upstream package in the same run, and before judges."""

import numpy as np
import pytest
import torch
from mizuoto.engines.artifacts import VoicePrompt
from mizuoto.mizuoto_runtime.text import english
from mizuoto.tests.contract.card import GPU, Card, Shares
from mizuoto.tests.engines.kokoro import oracle
from mizuoto.tests.judge_voice import mean_opinion_score
from mizuoto.tests.judges import MAX_WORD_ERROR_RATE, SENTENCES, transcribe, word_error_rate

JUDGED = ((SENTENCES[0], "af_heart", 2), (SENTENCES[3], "am_michael", 3))  # all five in both voices are a bench
NATURAL = 4.5
LONG = 510
PHONEMES = english.load()


@pytest.fixture(scope="module")
def card():
    """A card on which everything that can stream does."""
    card = Card(manager=Shares)
    card.memory.share = 0.0
    return card


@pytest.fixture(scope="module")
def model(load, real_folder, card):
    return load(real_folder, card.runtime, GPU)


@pytest.fixture(scope="module")
def upstream(real_folder):
    return oracle.load(real_folder)


@pytest.fixture(scope="module")
def say(model, card):
    """(text, voice, options, seed) -> (tensors of its one segment, waveform [T])."""

    def said(text, voice, seed=0, **chosen):
        ctx = card.runtime.context(seed)
        chosen = {option.name: option.default for option in model.manifest.options} | chosen
        with torch.inference_mode():
            codes = model.talk(text, VoicePrompt("kokoro", voice), chosen, ctx)
            (chunk,) = model.decode(codes, ctx)
        (segment,) = codes.segments
        return segment.tensors, chunk.waveform[0]

    return said


@pytest.fixture(scope="module")
def judged(say):
    return [say(text, voice, seed) for text, voice, seed in JUDGED]


def assert_equal(tensors, found, inputs):
    assert torch.equal(tensors["durations"][0], found.pred_dur)
    for name, given in zip(("text", "f0", "energy", "style"), inputs, strict=True):
        assert torch.equal(tensors[name], given), name


@pytest.mark.parametrize(("seed", "speed", "voice"), [(0, 1.3, "am_michael"), (1, 2.0, "af_heart")])
def test_short_texts(say, upstream, real_folder, seed, speed, voice):
    tensors, waveform = say("Hi.", voice, seed, speed=speed)
    phonemes = PHONEMES("Hi.")
    found, inputs = oracle.speak(upstream, phonemes, oracle.style(real_folder, voice, len(phonemes)), speed, seed)
    assert_equal(tensors, found, inputs)
    assert torch.equal(waveform, found.audio)


def test_a_sentence(judged, upstream, real_folder):
    (tensors, waveform), (text, voice, seed) = judged[0], JUDGED[0]
    phonemes = PHONEMES(text)
    found, inputs = oracle.speak(upstream, phonemes, oracle.style(real_folder, voice, len(phonemes)), seed=seed)
    assert_equal(tensors, found, inputs)
    assert torch.equal(waveform, found.audio)


def test_the_longest_text_and_a_mixture(model, card, upstream, real_folder):
    """Up to the decoder."""
    phonemes = (PHONEMES(" ".join(SENTENCES)) * 2)[:LONG]
    mixed = torch.stack([oracle.style(real_folder, voice, LONG) for _, voice, _ in JUDGED]).mean(dim=0)
    shares = dict.fromkeys((voice for _, voice, _ in JUDGED), 0.5)
    tensors = model._prosody(phonemes, shares, 2.0, card.runtime.context())
    assert_equal(tensors, *oracle.prosody(upstream, phonemes, mixed, 2.0))


def test_the_talker_streams_and_so_does_the_decoder(model, judged):
    for handle, share in zip(model.handles, (0.4, 0.95), strict=True):
        assert handle.streamed_bytes > share * handle.size_bytes, handle.name
        assert not handle.is_whole


def test_it_is_understood_and_sounds_natural(judged):
    for (text, *_), (_, waveform) in zip(JUDGED, judged, strict=True):
        assert word_error_rate(text, transcribe(waveform, 24000)) <= MAX_WORD_ERROR_RATE
    assert np.mean([mean_opinion_score(waveform, 24000) for _, waveform in judged]) >= NATURAL
