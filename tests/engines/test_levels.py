import pytest
import torch
from mizuoto.engines.levels import MOST_LU, TOLERANCE_LU, LevelMatch
from mizuoto.mizuoto_runtime.audio import Audio
from mizuoto.mizuoto_runtime.loudness import decibels_as_factor, integrated_loudness

RATE = 16000


def speech(seconds=2.0, decibels=0.0, seed=0):
    noise = torch.randn(1, int(seconds * RATE), generator=torch.Generator().manual_seed(seed))
    return 0.05 * noise * decibels_as_factor(decibels)


def loudness(waveform):
    return integrated_loudness(Audio(waveform, RATE))


def matched(*waveforms):
    match = LevelMatch()
    return [match(waveform, RATE) for waveform in waveforms]


@pytest.mark.parametrize("decibels", [-5.0, 5.0])
def test_segments_come_near_the_first(decibels):
    first, second = matched(speech(), speech(decibels=decibels, seed=1))
    assert torch.equal(first, speech())
    assert abs(loudness(second) - loudness(first)) == pytest.approx(TOLERANCE_LU, abs=0.1)


@pytest.mark.parametrize("decibels", [-1.5, 0.0, 1.5])
def test_what_no_ear_minds_is_left_to_the_bit(decibels):
    second = speech(decibels=decibels, seed=1)
    assert matched(speech(), second)[1] is second


def test_a_whisper_stays_softer():
    _, second = matched(speech(), speech(decibels=-20, seed=1))
    assert loudness(second) - loudness(speech(decibels=-20, seed=1)) == pytest.approx(MOST_LU, abs=0.1)


def test_short_and_silent_segments_are_left_alone():
    short, silent = speech(0.5, 10.0), torch.zeros(1, 2 * RATE)
    assert matched(speech(), short, silent)[1:] == [short, silent]
    first, second = matched(silent, speech())
    assert first is silent and torch.equal(second, speech())


def test_a_short_first_segment_sets_no_level():
    _, second, third = matched(speech(0.5, 10.0), speech(), speech(decibels=5, seed=1))
    assert torch.equal(second, speech())
    assert loudness(third) < loudness(speech(decibels=5, seed=1))


def test_nothing_is_clipped():
    loud, soft = speech(decibels=10), speech(seed=1)
    soft[0, RATE] = 0.9
    assert matched(loud, soft)[1].abs().max() <= 1.0
