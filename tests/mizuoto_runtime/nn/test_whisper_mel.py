import numpy as np
import pytest
import torch
from mizuoto.mizuoto_runtime.nn.mel import MelConfig, slaney_filters
from mizuoto.mizuoto_runtime.nn.whisper_mel import HOP_LENGTH, MIN_SAMPLES, N_FFT, SAMPLE_RATE, whisper_log_mel
from transformers import WhisperFeatureExtractor


def filters(num_mels):
    config = MelConfig(SAMPLE_RATE, N_FFT, HOP_LENGTH, num_mels)
    return torch.from_numpy(slaney_filters(config, np.float64)).T.contiguous().T


@pytest.mark.parametrize("num_mels", [80, 128])
def test_filters_equal_transformers(num_mels):
    expected = WhisperFeatureExtractor(feature_size=num_mels).mel_filters
    assert torch.equal(filters(num_mels), torch.from_numpy(expected).float().T)


@pytest.mark.parametrize("num_mels", [80, 128])
@pytest.mark.parametrize("samples", [MIN_SAMPLES, 800, 1700, 16000, 48007])
def test_equals_transformers(samples, num_mels):
    waveform = (0.1 * np.random.default_rng(samples).standard_normal(samples)).astype(np.float32)
    extractor = WhisperFeatureExtractor(feature_size=num_mels)
    expected = extractor([waveform], sampling_rate=16000, padding=True, truncation=False, return_tensors="pt")
    found = whisper_log_mel(torch.from_numpy(waveform), filters(num_mels))
    assert found.shape == (num_mels, samples // HOP_LENGTH)
    assert torch.equal(found, expected["input_features"][0])


def test_silence_is_flat():
    found = whisper_log_mel(torch.zeros(1600), filters(80))
    assert torch.equal(found, torch.full_like(found, -1.5))


def test_too_few_samples():
    assert whisper_log_mel(torch.zeros(MIN_SAMPLES), filters(80)).shape == (80, 1)
    with pytest.raises(RuntimeError):
        whisper_log_mel(torch.zeros(MIN_SAMPLES - 1), filters(80))
