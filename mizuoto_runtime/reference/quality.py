"""How good a recording is: how much of it is clipped, and how far its noise lies below its speech."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from ..audio import Audio
from ..vad import Span

_FULL_SCALE = 0.999  # 16-bit samples end at 0.99997
_MIN_RUN = 3  # a wave may touch full scale; one that stays there is cut off
_FRAME_S = 0.02
_MIN_NOISE_FRAMES = 5
_BEST_DB = 96.0  # what 16 bits can hold


def clipped_share(audio: Audio) -> float:
    """The share of samples, of all channels, that stay at or beyond full scale for three samples or longer."""
    # A channel at a time: long recordings need as little memory as can be.
    clipped = sum(_num_clipped(channel) for channel in audio.waveform)
    return clipped / max(1, audio.waveform.numel())


def noise_ratio_db(audio: Audio, spans: Sequence[Span]) -> float | None:
    """How far the recording is quieter where nobody speaks, in dB, at most 96; None if there is no such place.

    The level of the quietest quarter of the pauses counts: breaths, clicks and the ends of words are no noise.

    Args:
        audio: Mono.
        spans: Where somebody speaks.
    """
    size = max(1, round(_FRAME_S * audio.sample_rate))
    num_frames = audio.waveform.shape[-1] // size
    powers = audio.waveform[0, : num_frames * size].square().reshape(num_frames, size).mean(1).double()
    is_speech = torch.zeros(num_frames, dtype=torch.bool)
    for span in spans:
        is_speech[math.floor(span.start / _FRAME_S) : math.ceil(span.end / _FRAME_S)] = True
    speech, pauses = powers[is_speech], powers[~is_speech]
    if len(pauses) < _MIN_NOISE_FRAMES or not len(speech) or not float(speech.mean()):
        return None
    noise = max(float(pauses.sort().values[len(pauses) // 4]), 1e-30)
    return min(_BEST_DB, 10 * math.log10(float(speech.mean()) / noise))


def _num_clipped(channel: torch.Tensor) -> int:
    full = (channel >= _FULL_SCALE) | (channel <= -_FULL_SCALE)
    if len(full) < _MIN_RUN or not full.any():
        return 0
    is_run = full.unfold(0, _MIN_RUN, 1).all(1)  # at the first sample of every run
    inside = torch.zeros_like(full)
    for shift in range(_MIN_RUN):
        inside[shift : shift + len(is_run)] |= is_run
    return int(inside.sum())
