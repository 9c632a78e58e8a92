"""Framing and overlap-add for vocoders that predict a short-time spectrum with frames in rows."""

from __future__ import annotations

import torch


def overlap_add(frames: torch.Tensor, hop_length: int) -> torch.Tensor:
    """Sum of frames laid `hop_length` apart, [F, n_fft] -> [(F - 1) * hop_length + n_fft].

    Args:
        frames: One frame a row, `n_fft` a multiple of `hop_length`.
        hop_length: Samples between the starts of two frames.

    Raises:
        ValueError: `n_fft` is no multiple of `hop_length`.
    """
    num_frames, n_fft = frames.shape
    if n_fft % hop_length:
        raise ValueError(f"frames of {n_fft} samples do not divide into hops of {hop_length}")
    parts = frames.unflatten(1, (-1, hop_length))
    num_parts = parts.shape[1]
    total = frames.new_zeros(num_frames + num_parts - 1, hop_length)
    for part in range(num_parts):
        total[part : part + num_frames] += parts[:, part]
    return total.flatten()


def centred_frames(signal: torch.Tensor, n_fft: int, hop_length: int) -> torch.Tensor:
    """Frames centred on every `hop_length`-th sample, the ends reflected: [F * hop_length] -> view [F, n_fft].

    The first sample of the first frame is zero where the signal is too short to reflect it: windows that start at
    zero (periodic Hann) do not see it, so a signal of `n_fft / 2` samples is long enough.

    Source: the first F frames of `torch.stft(center=True, pad_mode="reflect")`, before windowing.

    Raises:
        ValueError: The signal is shorter than half a frame, or no whole number of hops.
    """
    half = n_fft // 2
    length = signal.shape[0]
    if length < half or length % hop_length:
        raise ValueError(f"{length} samples are not a whole number of hops of {hop_length}, {half} samples or more")
    left = signal[1 : half + 1].flip(0)
    missing = signal.new_zeros(half - left.shape[0])
    right = signal[length - 1 - (half - hop_length) : length - 1].flip(0)
    return torch.cat((missing, left, signal, right)).unfold(0, n_fft, hop_length)
