"""Segments of one recording made equally loud, as far as the ear minds."""

from __future__ import annotations

import torch

from ..mizuoto_runtime.audio import Audio
from ..mizuoto_runtime.loudness import decibels_as_factor, integrated_loudness

TOLERANCE_LU = 2.0  # sentences differ by as much when one person reads them
MOST_LU = 6.0  # a whisper stays softer than a shout
SHORTEST_S = 1.0  # of less speech the loudness says little


class LevelMatch:
    """Brings every segment near the loudness of the first long enough one, which is left as it is.

    So a change in a later segment changes no earlier one.
    """

    def __init__(self) -> None:
        self._target: float | None = None

    def __call__(self, waveform: torch.Tensor, sample_rate: int) -> torch.Tensor:
        """`waveform` [1, T], or the same louder or softer, never clipped by it."""
        audio = Audio(waveform, sample_rate)
        if audio.seconds < SHORTEST_S:
            return waveform
        loudness = integrated_loudness(audio)
        if self._target is None:
            self._target = loudness
        off = self._target - loudness
        if not TOLERANCE_LU < abs(off) < float("inf"):
            return waveform
        step = min(MOST_LU, abs(off) - TOLERANCE_LU)
        gain = decibels_as_factor(step if off > 0 else -step)
        peak = float(waveform.abs().max())
        return waveform * min(gain, max(1.0, 1.0 / peak))
