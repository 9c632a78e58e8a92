"""The port equals the float rebuild of the wheel's graph. Speech that sounds right proves nothing: the last test."""

from dataclasses import replace

import pytest
import torch
from mizuoto.engines.hibari.config import TalkerConfig
from mizuoto.engines.hibari.talker import Talker
from mizuoto.mizuoto_runtime.loading.keys import load_into

PHONEMES = {
    "one": "ˈA",
    "word": "həlˈO.",
    "question": "wˈʌt tˈIm ɪz ɪt?",
    "sentence": "ðə kwˈɪk bɹˈWn fˈɑks ʤˈʌmps ˈOvəɹ ðə lˈAzi dˈɔɡ nˌɪɹ ðə ɹˈɪvəɹ bˈæŋk.",
    "clauses": "ˌɪf ðə wˈɛðəɹ ɪz ɡˈʊd ˌɔn sˈæTəɹdˌA, wi wɪl wˈɔk əlˈɔŋ ðə bˈiʧ ænd wˈɑʧ ðə sˈʌnsˌɛt; “nˈO”— jˈɛs!",
    "long": "sˈIəntɪsts dəskˈʌvəɹd ɐ lˈɑɹʤ nˈʌmbəɹ ʌv stˈɑɹz ɪn ðə dˈɪstᵊnt ɡˈæləksi lˈæst wˈɪntəɹ. " * 6,
}
SPEEDS = (0.5, 1.0, 2.0)
MAX_F0_HZ = 0.01
MAX_SPECTRUM = 1e-3


def f0_difference(talker, golden, text_ids, speed):
    expected = golden(text_ids, speed)
    prosody = talker(text_ids, speed)
    assert torch.equal(prosody.durations, expected.durations)
    return (prosody.f0 - expected.f0).abs().max().item()


@pytest.mark.parametrize("speed", SPEEDS)
@pytest.mark.parametrize("name", PHONEMES)
def test_port_equals_float_graph(name, speed, ids_of, golden, wheel_talker, wheel_decoder):
    text_ids = ids_of(PHONEMES[name])
    expected = golden(text_ids, speed)
    prosody = wheel_talker(text_ids, speed)
    spectra = wheel_decoder.spectra(text_ids, *prosody)
    assert torch.equal(prosody.durations, expected.durations)
    assert prosody.f0.shape == expected.f0.shape
    assert (prosody.f0 - expected.f0).abs().max() < MAX_F0_HZ
    for ours, theirs in zip(spectra, expected.spectra, strict=True):
        assert ours.shape == theirs.shape
        assert (ours - theirs).abs().max() < MAX_SPECTRUM


def test_every_phoneme_equals_float_graph(golden, wheel_talker, wheel_decoder):
    text_ids = torch.arange(178)[None]
    expected = golden(text_ids, 1.0)
    prosody = wheel_talker(text_ids, 1.0)
    assert torch.equal(prosody.durations, expected.durations)
    for ours, theirs in zip(wheel_decoder.spectra(text_ids, *prosody), expected.spectra, strict=True):
        assert (ours - theirs).abs().max() < MAX_SPECTRUM


@pytest.mark.parametrize("dilations", [(1, 1, 1, 1, 1, 1), (1, 2, 4, 8, 2, 1), (1, 2, 4, 8, 1, 1)])
def test_a_wrong_dilation_is_noticed(dilations, ids_of, golden, wheel_talker):
    wrong = Talker(replace(TalkerConfig(), dilations=dilations))
    load_into(wrong, wheel_talker.state_dict(), "the right weights")
    assert f0_difference(wrong, golden, ids_of(PHONEMES["sentence"]), 1.0) > 100 * MAX_F0_HZ
    assert f0_difference(wheel_talker, golden, ids_of(PHONEMES["sentence"]), 1.0) < MAX_F0_HZ
