"""The outline of a recording, for a picture of it."""

from __future__ import annotations

import math
from itertools import pairwise

import torch

from .audio import Audio

LOUDEST = 99
_PER_SECOND = 20
_FEWEST, _MOST = 80, 1200  # a node is some hundred pixels wide


def outline(audio: Audio) -> list[int]:
    """How far the sound swings, 0 to `LOUDEST` for full scale, in stretches of equal length from start to end.

    Any number of channels; louder than full scale is drawn as full scale. A recording without samples has no outline.
    """
    num_samples = audio.waveform.shape[-1]
    wanted = min(max(math.ceil(audio.seconds * _PER_SECOND), _FEWEST), _MOST)
    num = min(wanted, num_samples)
    bounds = [index * num_samples // num for index in range(num + 1)] if num else []
    # One stretch at a time: of hours of sound a copy would be gigabytes.
    return [_swing(audio.waveform[:, start:end]) for start, end in pairwise(bounds)]


def _swing(samples: torch.Tensor) -> int:
    low, high = torch.aminmax(samples)
    return round(min(max(-float(low), float(high)), 1.0) * LOUDEST)
