"""Spectrograms as Whisper hears them: the whole recording at once, cut into windows of 30 s afterwards."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
import torch.nn.functional as F

from ...mizuoto_runtime.nn.mel import MelConfig, slaney_filters
from ...mizuoto_runtime.nn.whisper_mel import HOP_LENGTH, N_FFT, SAMPLE_RATE, whisper_log_mel
from .config import NUM_FRAMES

WINDOW_SAMPLES = NUM_FRAMES * HOP_LENGTH


def log_mel(waveform: torch.Tensor, num_mels: int) -> torch.Tensor:
    """The spectrogram of a recording with 30 s of silence behind it, [T] float32 -> [num_mels, T // 160 + 3000].

    On the waveform's device. The loudest point of the whole recording sets the level.

    Source: `transcribe`, openai-whisper 20250625.
    """
    filters = torch.from_numpy(_filters(num_mels)).to(waveform.device)
    return whisper_log_mel(F.pad(waveform, (0, WINDOW_SAMPLES)), filters)


@lru_cache(maxsize=2)
def _filters(num_mels: int) -> np.ndarray:
    return slaney_filters(MelConfig(SAMPLE_RATE, N_FFT, HOP_LENGTH, num_mels))
