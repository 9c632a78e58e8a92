"""The log-mel spectrogram that Whisper introduced and others took over: 16 kHz, 100 frames a second."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

SAMPLE_RATE, N_FFT, HOP_LENGTH = 16000, 400, 160
MIN_SAMPLES = N_FFT // 2 + 1
"""The ends are mirrored half a window deep, so fewer samples have no spectrogram."""

_FLOOR = 1e-10
_PIECE_FRAMES = 6000  # the spectra of a recording take 20 times the memory of its mels
_RANGE = 8.0  # decades of power below the loudest place that are told apart


def whisper_log_mel(waveform: torch.Tensor, filters: torch.Tensor) -> torch.Tensor:
    """Scaled logarithm of mel powers, [num_mels, T // 160]; frame n is centred on sample 160 n.

    Args:
        waveform: [T] float32 at 16 kHz, at least `MIN_SAMPLES` long.
        filters: [num_mels, 201] float32, on its device. Of few frames, their layout in memory decides last bits:
            openai-whisper keeps mels as rows, transformers frequencies.

    Source: log_mel_spectrogram, openai-whisper 20250625; WhisperFeatureExtractor, transformers 4.57.3.
    """
    num_frames = waveform.shape[-1] // HOP_LENGTH
    window = torch.hann_window(N_FFT, device=waveform.device)
    padded = F.pad(waveform[None, None], (N_FFT // 2, N_FFT // 2), mode="reflect")[0, 0]
    mel = torch.empty(len(filters), num_frames, device=waveform.device)
    for frames in _pieces(num_frames):
        piece = padded[frames.start * HOP_LENGTH : (frames.stop - 1) * HOP_LENGTH + N_FFT]
        spectrum = torch.stft(piece, N_FFT, HOP_LENGTH, window=window, center=False, return_complex=True)
        mel[:, frames] = filters @ (spectrum.abs() ** 2)
    mel.clamp_(min=_FLOOR).log10_()
    return mel.clamp_(min=mel.max() - _RANGE).add_(4.0).div_(4.0)


def _pieces(num_frames: int) -> Iterator[slice]:
    """What is computed at a time; a short last piece would round otherwise than the whole."""
    start = 0
    while num_frames - start >= 2 * _PIECE_FRAMES:
        yield slice(start, start + _PIECE_FRAMES)
        start += _PIECE_FRAMES
    if num_frames:
        yield slice(start, num_frames)
