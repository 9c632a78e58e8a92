"""The judges of voices can tell people apart, and good from bad, on real recordings."""

import sys
from itertools import pairwise

import numpy as np
import pytest
from mizuoto.tests.judge_voice import mean_opinion_score, speaker_similarity
from mizuoto.tests.test_judges import CLIPS, clip

RECORDINGS = [clip(name) for name in CLIPS]  # one reader


def deeper(samples, sample_rate):
    """The recording played slowly: a larger person."""
    return samples, int(sample_rate / 1.35)


def test_a_recording_is_of_its_own_speaker():
    assert speaker_similarity(*RECORDINGS[0], *RECORDINGS[0]) == pytest.approx(1.0, abs=1e-5)


def test_another_person_is_further_away_than_another_sentence():
    for a, b in pairwise(RECORDINGS):
        assert speaker_similarity(*a, *b) > speaker_similarity(*a, *deeper(*b)) + 0.05


def test_order_and_channels_do_not_matter_and_loudness_hardly():
    (a, rate_a), (b, rate_b) = RECORDINGS[0], RECORDINGS[2]
    similarity = speaker_similarity(a, rate_a, b, rate_b)
    assert speaker_similarity(b, rate_b, a, rate_a) == pytest.approx(similarity, abs=1e-5)
    quiet_stereo = np.stack([a, a])[None] * 0.02
    assert speaker_similarity(quiet_stereo, rate_a, b, rate_b) == pytest.approx(similarity, abs=0.05)


@pytest.mark.parametrize("samples", [np.zeros(16000), np.zeros(0), np.full(100, 0.1)])
def test_very_little_sound_is_no_error(samples):
    assert 0.0 <= speaker_similarity(samples, 16000, *RECORDINGS[1]) <= 1.0


def test_noise_and_distortion_cost_points():
    samples, sample_rate = RECORDINGS[0]
    good = mean_opinion_score(samples, sample_rate)
    assert mean_opinion_score(samples * 0.1, sample_rate) == pytest.approx(good, abs=0.05)
    noise = np.random.default_rng(0).normal(0.0, 0.02, len(samples))
    for bad in (samples + noise, np.clip(samples * 40, -0.5, 0.5)):
        assert 1.0 <= mean_opinion_score(bad, sample_rate) < good - 0.5


def test_the_empty_module_is_gone_again():
    mean_opinion_score(np.zeros(16000), 16000)
    assert "torchaudio" not in sys.modules or hasattr(sys.modules["torchaudio"], "load")
