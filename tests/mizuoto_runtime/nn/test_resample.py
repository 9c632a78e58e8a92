import librosa
import numpy as np
import pytest
import torch
from mizuoto.mizuoto_runtime.nn import resample as resampling
from mizuoto.mizuoto_runtime.nn.resample import by_sinc, resample

RATES = [8000, 16000, 22050, 44100, 48000, 96000]


def tone(frequency, rate, num_samples):
    time = torch.arange(num_samples, dtype=torch.float64) / rate
    return torch.sin(2 * torch.pi * frequency * time).float()


def level_db(signal):
    """Power against a full-scale tone."""
    return 10 * float((2 * signal.double().square().mean()).log10())


@pytest.mark.parametrize("num_samples", [1, 7, 1000, 44103])
@pytest.mark.parametrize("rate", [*RATES, 44099])
def test_equals_librosa(rate, num_samples):
    pytest.importorskip("soxr")
    recording = np.random.default_rng(num_samples).standard_normal(num_samples).astype(np.float32)
    expected = librosa.resample(recording, orig_sr=rate, target_sr=24000)
    found = resample(torch.from_numpy(recording)[None], rate, 24000)
    assert found.shape == (1, len(expected))
    assert np.array_equal(found[0].numpy(), expected)


@pytest.mark.parametrize("position", [0.001, 0.5, 0.9])
@pytest.mark.parametrize("rate", RATES)
def test_sinc_keeps_what_is_in_the_pass_band(rate, position):
    frequency = position * min(rate, 24000) / 2
    found = by_sinc(tone(frequency, rate, rate // 2), rate, 24000)
    expected = tone(frequency, 24000, len(found))
    assert level_db((found - expected)[2000:-2000]) < -110


@pytest.mark.parametrize("frequency", [12001, 13000, 18000, 21000])
@pytest.mark.parametrize("rate", [44100, 48000, 96000])
def test_sinc_folds_nothing_back(rate, frequency):
    assert level_db(by_sinc(tone(frequency, rate, rate // 2), rate, 24000)[2000:-2000]) < -110


@pytest.mark.parametrize("rate", [*RATES, 24000])
def test_without_soxr_lengths_and_sound_stay(rate, monkeypatch):
    signal = torch.stack((tone(300, rate, 4001), tone(500, rate, 4001)))
    with_soxr = resample(signal, rate, 24000)
    monkeypatch.setattr(resampling, "has_soxr", lambda: False)
    without = resample(signal, rate, 24000)
    assert without.shape == with_soxr.shape
    assert without.dtype == torch.float32
    assert level_db((without - with_soxr)[:, 300:-300]) < -100


def test_equal_rates_change_nothing():
    signal = torch.ones(2, 5)
    assert resample(signal, 24000, 24000) is signal


def test_bad_rates_are_refused():
    with pytest.raises(ValueError, match="must be positive"):
        resample(torch.ones(1, 5), 0, 24000)
