"""Segments of speech into one recording: no click, and pauses as long as a reader makes them."""

from __future__ import annotations

from collections.abc import Sequence

import torch

# Below this a sample is silence: -60 dBFS, a step of which nobody hears.
SILENCE = 1e-3
# Seconds between the last sound of a segment and the first of the next, by how the segment's text ends.
SENTENCE_PAUSE_S, CLAUSE_PAUSE_S, WORD_PAUSE_S = 0.45, 0.25, 0.1
_SENTENCE_ENDS = frozenset(".!?…。！？｡\n")
_CLAUSE_ENDS = frozenset(",;:—–、，；：")
_CLOSERS = "\"'”’)]}»」』）"


def pause_after(text: str) -> float:
    """Seconds of silence that belong behind a segment with this text."""
    last = text.rstrip().rstrip(_CLOSERS)[-1:]
    if last in _SENTENCE_ENDS:
        return SENTENCE_PAUSE_S
    return CLAUSE_PAUSE_S if last in _CLAUSE_ENDS else WORD_PAUSE_S


def join(waveforms: list[torch.Tensor], texts: Sequence[str], sample_rate: int) -> torch.Tensor:
    """[1, T] of all segments, with the pause of its text between each and the next.

    Only silence is cut or added, so nothing that sounds is lost and no step is larger than `SILENCE` twice. The
    silence before the first and after the last segment stays. One segment comes back as it is.

    Args:
        waveforms: [1, T] each; emptied on the way, so that long speech is in memory once and not twice.
        texts: What each says.
        sample_rate: Hz.
    """
    if len(waveforms) == 1:
        return waveforms.pop()
    spans = [_sounding(waveform) for waveform in waveforms]
    starts = [0, *(start for start, _ in spans[1:])]
    ends = [*(end for _, end in spans[:-1]), waveforms[-1].shape[-1]]
    pauses = [*(round(pause_after(text) * sample_rate) for text in texts[:-1]), 0]
    total = sum(max(0, end - start) + pause for start, end, pause in zip(starts, ends, pauses, strict=True))
    joined = waveforms[0].new_zeros(1, total)
    position = 0
    for start, end, pause in zip(starts, ends, pauses, strict=True):
        piece = waveforms.pop(0)[:, start:end]
        joined[:, position : position + piece.shape[-1]] = piece
        position += piece.shape[-1] + pause
    return joined


def _sounding(waveform: torch.Tensor) -> tuple[int, int]:
    """First and one past the last sample that is not silence; (0, 0) when all of it is."""
    loud = (waveform[0].abs() > SILENCE).nonzero()
    return (int(loud[0]), int(loud[-1]) + 1) if loud.numel() else (0, 0)
