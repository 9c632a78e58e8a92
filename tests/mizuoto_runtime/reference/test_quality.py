import pytest
import torch
from mizuoto.mizuoto_runtime.audio import Audio
from mizuoto.mizuoto_runtime.reference import clipped_share, noise_ratio_db
from mizuoto.mizuoto_runtime.vad import Span


def wave(peak, num_samples=16000):
    return peak * torch.sin(torch.arange(num_samples) * 0.05)[None]


def test_a_wave_below_or_just_at_full_scale_is_not_clipped():
    assert clipped_share(Audio(wave(0.9), 16000)) == 0
    touching = 0.5 * wave(1.0)
    touching[0, 100:102] = 1.0
    assert clipped_share(Audio(touching, 16000)) == 0
    assert clipped_share(Audio(torch.ones(1, 2), 16000)) == clipped_share(Audio(torch.zeros(1, 0), 16000)) == 0


@pytest.mark.parametrize("full", [1.0, 32767 / 32768])
def test_flat_tops_are_counted(full):
    clipped = Audio(wave(2.0).clamp(-full, full), 16000)
    expected = float((wave(2.0).abs() >= full).double().mean())
    assert clipped_share(clipped) == pytest.approx(expected, abs=0.01) and expected > 0.5
    stereo = Audio(torch.cat((clipped.waveform, wave(0.5))), 16000)
    assert clipped_share(stereo) == pytest.approx(clipped_share(clipped) / 2)


def test_only_whole_runs_are_counted():
    runs = torch.zeros(1, 100)
    runs[0, 10:13], runs[0, 20:22], runs[0, 96:] = 1.0, -1.0, -1.0
    assert clipped_share(Audio(runs, 16000)) == pytest.approx(0.07)


@pytest.mark.parametrize("ratio_db", [10, 30, 60])
def test_noise_is_measured_in_the_pauses(ratio_db):
    noise = torch.randn(1, 32000, generator=torch.Generator().manual_seed(1))
    noise[:, 16000:] *= 10 ** (-ratio_db / 20)
    noise[:, 20000:20100] += 1.0  # a click
    assert noise_ratio_db(Audio(noise, 16000), [Span(0.0, 1.0)]) == pytest.approx(ratio_db, abs=0.5)


def test_digital_silence_is_as_clean_as_can_be_and_without_pauses_nothing_is_known():
    speech = torch.cat((wave(0.5), torch.zeros(1, 16000)), dim=1)
    assert noise_ratio_db(Audio(speech, 16000), [Span(0.0, 1.0)]) == 96.0
    assert noise_ratio_db(Audio(speech, 16000), [Span(0.0, 2.0)]) is None
    assert noise_ratio_db(Audio(speech, 16000), []) is None
    assert noise_ratio_db(Audio(torch.zeros(1, 0), 16000), []) is None
