import pytest
import torch
import torchaudio
from mizuoto.mizuoto_runtime.nn.vocos_mel import MIN_SAMPLES, htk_filters, vocos_log_mel
from mizuoto.tests.engines.f5_tts import oracle
from mizuoto.tests.mizuoto_runtime.nn.test_dit import noise


@pytest.mark.parametrize(("frequencies", "mels", "rate"), [(513, 100, 24000), (201, 80, 16000)])
def test_filters_equal_torchaudios(frequencies, mels, rate):
    expected = torchaudio.functional.melscale_fbanks(frequencies, 0.0, rate / 2, mels, rate)
    assert torch.equal(htk_filters(frequencies, mels, rate), expected)


@pytest.mark.parametrize("samples", [MIN_SAMPLES, 24000, 80_089])
def test_equals_upstream(samples):
    waveform = 0.1 * noise(2, samples)
    found = vocos_log_mel(waveform)
    assert torch.equal(found, oracle.modules.get_vocos_mel_spectrogram(waveform).mT)
    assert found.shape == (2, samples // 256 + 1, 100)
