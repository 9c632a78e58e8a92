"""Spectrograms have the bits of openai-whisper's, whatever the length."""

import pytest
import torch
from mizuoto.engines.whisper.features import log_mel
from mizuoto.tests.engines.whisper import clips, oracle


def noise(num_samples):
    return 0.1 * torch.randn(num_samples, generator=torch.Generator().manual_seed(0))


RECORDINGS = {
    **{name: lambda name=name: clips.read(name) for name in clips.WORDS},
    **{f"noise of {count}": lambda count=count: noise(count) for count in (1, 159, 160, 80_077, 100 * 16000 + 3)},
    "silence": lambda: torch.zeros(8000),
}


@pytest.mark.parametrize("num_mels", [80, 128])
@pytest.mark.parametrize("recording", RECORDINGS.values(), ids=RECORDINGS)
def test_spectrograms_equal_openai_whisper(recording, num_mels):
    waveform = recording()
    found = log_mel(waveform, num_mels)
    assert found.shape == (num_mels, len(waveform) // 160 + 3000)
    assert torch.equal(found, oracle.log_mel(waveform, num_mels, padding=30 * 16000))
