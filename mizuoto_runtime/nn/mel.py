"""Mel filter banks of the Slaney kind, and log-mel spectrograms in the manner of HiFi-GAN."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

_LINEAR_HZ = 200.0 / 3  # a mel, below the break
_BREAK_HZ = 1000.0
_BREAK_MEL = _BREAK_HZ / _LINEAR_HZ
_LOG_STEP = np.log(6.4) / 27.0  # a mel, above the break


@dataclass(frozen=True, slots=True)
class MelConfig:
    """A log-mel spectrogram: rates, bands and the smallest magnitude that is kept."""

    sample_rate: int
    n_fft: int
    hop_length: int
    num_mels: int
    min_hz: float = 0.0
    max_hz: float | None = None  # half the sample rate
    floor: float = 1e-5


def slaney_filters(config: MelConfig, triangles: type[np.floating[Any]] = np.float32) -> np.ndarray:
    """Triangular filters of equal area, float32 [num_mels, n_fft / 2 + 1].

    Args:
        config: Rates and bands.
        triangles: What the triangles are rounded to before they are scaled to their area, which decides last bits.

    Source: librosa.filters.mel, librosa 0.11.0, with its defaults; with float64 triangles mel_filter_bank of
    transformers 4.57.3, with Slaney's scale and norm.
    """
    max_hz = config.sample_rate / 2 if config.max_hz is None else config.max_hz
    mels = np.linspace(_hz_to_mel(config.min_hz), _hz_to_mel(max_hz), config.num_mels + 2)
    edges = _mel_to_hz(mels)
    bins = np.fft.rfftfreq(config.n_fft, 1.0 / config.sample_rate)
    widths = np.diff(edges)
    ramps = np.subtract.outer(edges, bins)
    rising = -ramps[:-2] / widths[:-1, None]
    falling = ramps[2:] / widths[1:, None]
    filters: np.ndarray = np.maximum(0, np.minimum(rising, falling)).astype(triangles)
    # In place: the product is rounded as the reference does.
    filters *= (2.0 / (edges[2:] - edges[:-2]))[:, None]
    return filters.astype(np.float32)


def log_mel(waveform: torch.Tensor, config: MelConfig) -> torch.Tensor:
    """Natural logarithm of mel magnitudes, [B, T] float32 -> [B, num_mels, T // hop_length].

    The ends are mirrored so that frame n is centred on the middle of hop n.

    Source: mel_spectrogram, qwen_tts 0.1.1 core/models/modeling_qwen3_tts.py.

    Raises:
        ValueError: The waveform is too short to be mirrored.
    """
    padding = (config.n_fft - config.hop_length) // 2
    if waveform.shape[-1] <= padding:
        raise ValueError(f"{waveform.shape[-1]} samples are too few for a spectrogram; {padding + 1} are needed")
    padded = F.pad(waveform.unsqueeze(1), (padding, padding), mode="reflect").squeeze(1)
    window = torch.hann_window(config.n_fft, device=waveform.device)
    spectrum = torch.stft(
        padded, config.n_fft, config.hop_length, window=window, center=False, onesided=True, return_complex=True
    )
    magnitude = torch.view_as_real(spectrum).pow(2).sum(-1).add_(1e-9).sqrt_()
    filters = torch.from_numpy(_cached_filters(config)).to(waveform.device)
    return torch.matmul(filters, magnitude).clamp_(min=config.floor).log_()


@lru_cache(maxsize=8)
def _cached_filters(config: MelConfig) -> np.ndarray:
    return slaney_filters(config)


def _hz_to_mel(frequency: float) -> float:
    if frequency >= _BREAK_HZ:
        return float(_BREAK_MEL + np.log(frequency / _BREAK_HZ) / _LOG_STEP)
    return frequency / _LINEAR_HZ


def _mel_to_hz(mels: np.ndarray) -> np.ndarray:
    logarithmic = _BREAK_HZ * np.exp(_LOG_STEP * (mels - _BREAK_MEL))
    return np.where(mels >= _BREAK_MEL, logarithmic, _LINEAR_HZ * mels)
