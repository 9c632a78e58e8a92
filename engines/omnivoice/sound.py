"""What becomes of decoded chunks: joined, without long silences, as loud as the reference, faded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from ...mizuoto_runtime.errors import EngineError
from ...mizuoto_runtime.reference.silence import without_silence
from .manifest import SAMPLE_RATE
from .voice import LOUD

_GAP_S = 0.3  # between chunks: a third to fade out, a third of silence, a third to fade in
_FADE_S = 0.1
_PEAK = 0.5  # of a voice without a reference
_FAINT = 1e-6


@dataclass(frozen=True, slots=True)
class Finish:
    """How a take is finished.

    Attributes:
        level: Root mean square of the reference; None without one.
        is_tidied: Whether long silences are cut.
        padding_s: Silence put at both ends.
    """

    level: float | None
    is_tidied: bool
    padding_s: float


def joined(waveforms: Sequence[torch.Tensor]) -> torch.Tensor:
    """Chunks [T] in a row, with a faded pause between two.

    Source: cross_fade_chunks, omnivoice 0.2.1 utils/audio.py.
    """
    first, *others = waveforms
    if not others:
        return first
    third = int(_GAP_S * SAMPLE_RATE) // 3
    found = first.clone()
    for waveform in others:
        out, into = min(third, len(found)), min(third, len(waveform))
        found[len(found) - out :] *= _ramp(1, 0, out)
        following = waveform.clone()
        following[:into] *= _ramp(0, 1, into)
        found = torch.cat([found, torch.zeros(third), following])
    return found


def finished(waveform: torch.Tensor, finish: Finish) -> torch.Tensor:
    """[T] on the CPU as it is heard.

    Raises:
        EngineError: There is nothing but silence.

    Source: OmniVoice._post_process_audio, omnivoice 0.2.1.
    """
    if finish.is_tidied:
        waveform = without_silence(waveform, SAMPLE_RATE, middle=500, lead=100, trail=100)
    if not len(waveform):
        raise EngineError("The model made nothing but silence; try another seed.")
    if finish.level is None:
        peak = waveform.abs().max()
        waveform = waveform / peak * _PEAK if peak > _FAINT else waveform
    elif finish.level < LOUD:
        waveform = waveform * finish.level / LOUD
    waveform = waveform.clone()
    fade = min(int(_FADE_S * SAMPLE_RATE), len(waveform) // 2)
    if fade:
        waveform[:fade] *= _ramp(0, 1, fade)
        waveform[-fade:] *= _ramp(1, 0, fade)
    padding = int(finish.padding_s * SAMPLE_RATE)
    return F.pad(waveform, (padding, padding))


def _ramp(start: float, stop: float, count: int) -> torch.Tensor:
    """[count] from one value to another, as numpy counts: in float64, then rounded."""
    if count < 2:
        return torch.full((count,), float(start))
    values = torch.arange(count, dtype=torch.float64) * ((stop - start) / (count - 1)) + start
    values[-1] = stop
    return values.float()
