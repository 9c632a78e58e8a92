"""Loudness against pyloudnorm and the standard's own numbers."""

import math
from pathlib import Path

import numpy as np
import pyloudnorm
import pytest
import soundfile
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from mizuoto.mizuoto_runtime.audio import Audio
from mizuoto.mizuoto_runtime.loudness import gain_for, integrated_loudness, weighting
from mizuoto.mizuoto_runtime.nn.resample import resample

SPEECH = Path(__file__).resolve().parents[1] / "data" / "speech"
RATES = [8000, 11025, 16000, 22050, 44100, 48000, 96000]


def tone(rate, frequency=997.0, seconds=3.0, peak=1.0):
    time = torch.arange(round(rate * seconds), dtype=torch.float64) / rate
    return (peak * torch.sin(2 * torch.pi * frequency * time)).float()[None]


@pytest.fixture(scope="module")
def speech():
    clips = [soundfile.read(path, dtype="float32")[0] for path in sorted(SPEECH.glob("*.wav"))]
    return torch.from_numpy(np.concatenate([clips[0], 0.1 * clips[1], np.zeros(16000, np.float32), clips[2]]))[None]


def judged(waveform, rate):
    """By the filters that the standard's tables come from; the package's default ones leave them at low rates."""
    return pyloudnorm.Meter(rate, filter_class="DeMan").integrated_loudness(waveform.double().numpy().T)


def test_the_filters_are_the_standards_at_48_khz():
    (shelf, shelf_below), (high, high_below) = weighting(48000)
    assert shelf == pytest.approx((1.53512485958697, -2.69169618940638, 1.19839281085285), abs=1e-8)
    assert shelf_below == pytest.approx((1.0, -1.69065929318241, 0.73248077421585), abs=1e-8)
    assert high == (1.0, -2.0, 1.0)
    assert high_below == pytest.approx((1.0, -1.99004745483398, 0.99007225036621), abs=1e-8)


@pytest.mark.parametrize("rate", RATES)
def test_a_tone_of_997_hz_at_full_scale_is_3_lufs_down(rate):
    assert integrated_loudness(Audio(tone(rate), rate)) == pytest.approx(-3.01, abs=0.05)


@pytest.mark.parametrize("frequency", [60.0, 500.0, 3000.0])
@pytest.mark.parametrize("rate", RATES)
def test_tones_as_the_judge_hears_them(rate, frequency):
    waveform = tone(rate, frequency, peak=0.1)
    assert integrated_loudness(Audio(waveform, rate)) == pytest.approx(judged(waveform, rate), abs=0.02)


@pytest.mark.parametrize("rate", [16000, 24000, 44100])
def test_speech_as_the_judge_hears_it(speech, rate):
    waveform = resample(speech, 16000, rate)
    found = integrated_loudness(Audio(waveform, rate))
    assert found == pytest.approx(judged(waveform, rate), abs=0.02)
    if rate > 16000:
        default = pyloudnorm.Meter(rate).integrated_loudness(waveform.double().numpy().T)
        assert found == pytest.approx(default, abs=0.1)


def test_channels_are_weighted(speech):
    channels = torch.cat([scale * speech for scale in (0.5, 0.3, 0.8, 0.4, 0.2)])
    found = integrated_loudness(Audio(channels, 16000))
    assert found == pytest.approx(judged(channels, 16000), abs=0.02)
    with_bass = torch.cat((channels[:3], tone(16000, 40.0, speech.shape[1] / 16000), channels[3:]))
    assert integrated_loudness(Audio(with_bass, 16000)) == pytest.approx(found, abs=1e-6)


def test_long_recordings_are_filtered_in_pieces_without_a_seam(speech):
    long = speech.repeat(1, 3)
    assert long.shape[1] > 25.6 * 16000
    assert integrated_loudness(Audio(long, 16000)) == pytest.approx(judged(long, 16000), abs=0.02)


@pytest.mark.parametrize("waveform", [torch.zeros(1, 48000), 1e-5 * torch.ones(1, 48000), torch.zeros(2, 0)])
def test_silence_has_no_loudness(waveform):
    assert integrated_loudness(Audio(waveform, 16000)) == -math.inf
    assert gain_for(Audio(torch.zeros(1, 0), 16000), -20.0, -1.0) == 1.0


def test_less_than_a_block_counts_as_one():
    assert integrated_loudness(Audio(tone(16000, seconds=0.2), 16000)) == pytest.approx(-3.0, abs=0.2)


@settings(max_examples=25, deadline=None)
@given(st.floats(-100, 6), st.floats(-40, -10), st.sampled_from([-1.0, -6.0]))
def test_a_gain_leads_to_the_target_from_any_level_and_only_once(level_db, target, ceiling):
    speech = torch.from_numpy(soundfile.read(SPEECH / "austen-0880.wav", dtype="float32")[0])[None]
    quiet = Audio(speech / speech.abs().max() * 10 ** (level_db / 20), 16000)
    louder = Audio(quiet.waveform * gain_for(quiet, target, ceiling), 16000)
    peak_db = 20 * math.log10(float(louder.waveform.abs().max()))
    assert peak_db <= ceiling + 1e-4
    reached = integrated_loudness(louder)
    assert reached == pytest.approx(target, abs=0.01) or (reached < target and peak_db == pytest.approx(ceiling))
    assert gain_for(louder, target, ceiling) == pytest.approx(1.0, abs=1e-4)


def test_a_lone_click_is_brought_to_the_ceiling():
    click = torch.zeros(1, 16000 * 60)
    click[0, 100] = 1e-3
    assert 1e-3 * gain_for(Audio(click, 16000), -20.0, -6.0) <= 0.502
