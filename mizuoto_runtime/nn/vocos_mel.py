"""The log-mel spectrogram that Vocos was trained on: 24 kHz, 93.75 frames a second, filters of the HTK kind."""

from __future__ import annotations

import math
from functools import lru_cache

import torch

SAMPLE_RATE, N_FFT, HOP_LENGTH, NUM_MELS = 24000, 1024, 256, 100
MIN_SAMPLES = N_FFT // 2 + 1
"""The ends are mirrored half a window deep, so fewer samples have no spectrogram."""

_FLOOR = 1e-5


def vocos_log_mel(waveform: torch.Tensor) -> torch.Tensor:
    """Natural logarithm of mel magnitudes, [B, T] -> [B, T // 256 + 1, 100]; frame n is centred on sample 256 n.

    Args:
        waveform: float32 at 24 kHz, at least `MIN_SAMPLES` long.

    Source: get_vocos_mel_spectrogram, f5-tts 1.1.22; MelSpectrogram with power 1, torchaudio 2.11.1.
    """
    window = torch.hann_window(N_FFT, device=waveform.device)
    spectrum = torch.stft(waveform, N_FFT, HOP_LENGTH, N_FFT, window, return_complex=True).abs()
    # Frames as rows: the product the other way round has other bits.
    mel = torch.matmul(spectrum.transpose(1, 2), htk_filters(N_FFT // 2 + 1, NUM_MELS, SAMPLE_RATE).to(waveform))
    return mel.clamp_(min=_FLOOR).log_()


@lru_cache(maxsize=4)
def htk_filters(num_frequencies: int, num_mels: int, sample_rate: int) -> torch.Tensor:
    """Triangles of height 1 from 0 Hz to half the rate, float32 [num_frequencies, num_mels]; not to be written to.

    Source: melscale_fbanks, torchaudio 2.11.1, with its defaults.
    """
    nyquist = sample_rate // 2
    frequencies = torch.linspace(0, nyquist, num_frequencies, device="cpu")
    top = 2595.0 * math.log10(1.0 + nyquist / 700.0)
    edges = 700.0 * (10.0 ** (torch.linspace(0.0, top, num_mels + 2, device="cpu") / 2595.0) - 1.0)
    widths = edges[1:] - edges[:-1]
    distance = edges[None] - frequencies[:, None]
    rising, falling = -distance[:, :-2] / widths[:-1], distance[:, 2:] / widths[1:]
    return torch.minimum(rising, falling).clamp(min=0.0)
