import pytest
import torch
import torchaudio
from mizuoto.mizuoto_runtime.nn.sinc import sinc_resample


@pytest.mark.parametrize("rates", [(24000, 16000), (44100, 24000), (16000, 24000), (48000, 24000), (22050, 16000)])
@pytest.mark.parametrize("length", [1, 999, 24_001])
def test_both_flavours_equal_torchaudio(rates, length):
    waveform = torch.randn(2, length, generator=torch.Generator().manual_seed(length))
    assert torch.equal(sinc_resample(waveform, *rates), torchaudio.functional.resample(waveform, *rates))
    wide = sinc_resample(waveform, *rates, torch.float64)
    assert torch.equal(wide, torchaudio.transforms.Resample(*rates)(waveform))


def test_equal_rates_change_nothing():
    waveform = torch.randn(1, 10, generator=torch.Generator().manual_seed(0))
    assert sinc_resample(waveform, 8000, 8000) is waveform
