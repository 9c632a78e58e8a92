"""Pieces out of a recording and into one, and edges that do not click."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..audio import Audio

_FADE_S = 0.005
PAUSE_S = 0.3  # between recordings that are joined: as between two sentences


def cut(audio: Audio, start: float, end: float) -> Audio:
    """What lies between two times; a view of the recording's samples."""
    first, last = (round(time * audio.sample_rate) for time in (start, end))
    return Audio(audio.waveform[:, max(0, first) : max(0, last)], audio.sample_rate)


def faded(audio: Audio, seconds: float = _FADE_S) -> Audio:
    """A copy that rises from silence and falls back to it, each half a period of a cosine."""
    waveform = audio.waveform.clone()
    length = min(round(seconds * audio.sample_rate), waveform.shape[-1] // 2)
    if length:
        ramp = 0.5 - 0.5 * torch.cos(torch.pi * torch.arange(length, dtype=torch.float64) / length)
        waveform[:, :length] *= ramp.float()
        waveform[:, -length:] *= ramp.flip(0).float()
    return Audio(waveform, audio.sample_rate)


def joined(recordings: Sequence[Audio]) -> Audio:
    """Recordings of one rate after each other, with a pause between; one as it is.

    Raises:
        ValueError: The rates differ, or there is no recording.
    """
    if len({recording.sample_rate for recording in recordings}) != 1:
        raise ValueError("recordings that are joined must have one sample rate")
    first = recordings[0]
    if len(recordings) == 1:
        return first
    pause = first.waveform.new_zeros(first.waveform.shape[0], round(PAUSE_S * first.sample_rate))
    pieces = [piece for recording in recordings for piece in (pause, recording.waveform)][1:]
    return Audio(torch.cat(pieces, dim=1), first.sample_rate)
