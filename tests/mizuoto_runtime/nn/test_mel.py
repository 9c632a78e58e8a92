import librosa
import numpy as np
import pytest
import torch
from mizuoto.mizuoto_runtime.nn.mel import MelConfig, log_mel, slaney_filters


@pytest.mark.parametrize(
    "config",
    [
        MelConfig(24000, 1024, 256, 128, max_hz=12000.0),
        MelConfig(16000, 400, 160, 80),
        MelConfig(22050, 1024, 256, 80, max_hz=8000.0),
        MelConfig(44100, 2048, 512, 160, min_hz=40.0),
        MelConfig(24000, 1024, 256, 100, min_hz=1200.0),
    ],
)
def test_filters_equal_librosa(config):
    expected = librosa.filters.mel(
        sr=config.sample_rate, n_fft=config.n_fft, n_mels=config.num_mels, fmin=config.min_hz, fmax=config.max_hz
    )
    found = slaney_filters(config)
    assert found.dtype == np.float32
    assert np.array_equal(found, expected)


def test_a_tone_is_in_its_band():
    config = MelConfig(24000, 1024, 256, 128)
    tone = torch.sin(2 * torch.pi * 2000 * torch.arange(24000) / 24000)[None]
    mel = log_mel(tone, config)
    assert mel.shape == (1, 128, 24000 // 256)
    centres = slaney_filters(config) @ np.fft.rfftfreq(1024, 1 / 24000) / slaney_filters(config).sum(1)
    assert abs(centres[mel[0, :, 40].argmax()] - 2000) < 60


def test_silence_is_at_the_floor():
    mel = log_mel(torch.zeros(1, 4000), MelConfig(24000, 1024, 256, 8, floor=1e-2))
    assert torch.equal(mel, torch.full_like(mel, 1e-2).log())


def test_what_is_too_short_is_refused():
    config = MelConfig(24000, 1024, 256, 8)
    with pytest.raises(ValueError, match="385 are needed"):
        log_mel(torch.zeros(1, 384), config)
    assert log_mel(torch.zeros(1, 385), config).shape[-1] == 1
