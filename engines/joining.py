"""Segments of speech into one recording: no click, and pauses as long as a reader makes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ..mizuoto_runtime.text.pauses import pause_after

# Below this a sample is silence: -60 dBFS, a step of which nobody hears.
SILENCE = 1e-3
FADE_S = 0.004  # of an edge that sounds up to its last sample: too short to be heard, too long for a click


@dataclass(slots=True)
class Sound:
    """One segment on its way into a recording.

    Attributes:
        waveform: [1, T]; None once it is in the recording.
        text: What it says; it decides the pause behind it.
    """

    waveform: torch.Tensor | None
    text: str


Piece = Sound | float
"""A segment, or seconds of silence that the text asks for."""


def join(pieces: Sequence[Piece], sample_rate: int) -> tuple[torch.Tensor, list[tuple[int, int]]]:
    """[1, T] of all segments with one pause between each and the next, and where each segment sounds in it.

    The pause is the one that the text asks for, or else the one of its punctuation; the silence that segments bring
    along does not add to it. Only silence is cut or added, so nothing that sounds is lost and no step is larger than
    `SILENCE` twice; an edge that sounds up to its last sample is faded. The silence before the first and after the last
    segment stays. One segment alone comes back as it is.

    Args:
        pieces: Never two silences side by side. The waveforms are taken out on the way, so that long speech is in
            memory once and not twice.
        sample_rate: Hz.

    Returns:
        The samples, and [start, end) in samples of every `Sound`, in order.
    """
    if len(pieces) == 1 and isinstance(pieces[0], Sound):
        waveform = _taken(pieces[0])
        return waveform, [(0, waveform.shape[-1])]
    spans = [_kept(pieces, number) for number in range(len(pieces))]
    lengths = [
        end - start if isinstance(piece, Sound) else round(piece * sample_rate)
        for piece, (start, end) in zip(pieces, spans, strict=True)
    ]
    gaps = [_gap(pieces, number, sample_rate) for number in range(len(pieces))]
    joined = torch.zeros(1, sum(lengths) + sum(gaps))
    places: list[tuple[int, int]] = []
    position = 0
    for piece, (start, end), length, gap in zip(pieces, spans, lengths, gaps, strict=True):
        if isinstance(piece, Sound):
            joined[:, position : position + length] = _faded(_taken(piece), start, end, round(FADE_S * sample_rate))
            places.append((position, position + length))
        position += length + gap
    return joined, places


def newest(pieces: Sequence[Piece], sample_rate: int) -> torch.Tensor:
    """[1, T] that the last of `pieces`, a `Sound`, adds to what `join` makes when more follow: a pause, then itself."""
    pieces = [*pieces[-2:], 0.0]
    number = len(pieces) - 2
    sound, before = pieces[number], pieces[0] if number else 0.0
    assert isinstance(sound, Sound) and sound.waveform is not None
    pause = _gap(pieces, 0, sample_rate) if isinstance(before, Sound) else round(before * sample_rate)
    start, end = _kept(pieces, number)
    return torch.nn.functional.pad(_faded(sound.waveform, start, end, round(FADE_S * sample_rate)), (pause, 0))


def _taken(sound: Sound) -> torch.Tensor:
    waveform, sound.waveform = sound.waveform, None
    assert waveform is not None
    return waveform


def _kept(pieces: Sequence[Piece], number: int) -> tuple[int, int]:
    """What of a segment is kept: all but the silence at its edges, which stays at the ends of the recording."""
    piece = pieces[number]
    if not isinstance(piece, Sound) or piece.waveform is None:
        return 0, 0
    start, end = sounding(piece.waveform)
    is_first, is_last = number == 0, number == len(pieces) - 1
    return (0 if is_first else start), (piece.waveform.shape[-1] if is_last else max(end, 0 if is_first else start))


def _gap(pieces: Sequence[Piece], number: int, sample_rate: int) -> int:
    """Samples of the pause of the punctuation between a piece and the next."""
    piece, following = pieces[number], pieces[number + 1] if number + 1 < len(pieces) else None
    if isinstance(piece, Sound) and isinstance(following, Sound):
        return round(pause_after(piece.text) * sample_rate)
    return 0


def _faded(waveform: torch.Tensor, start: int, end: int, length: int) -> torch.Tensor:
    """`waveform[start:end]`, with a fade where it sounds up to its very edge; elsewhere silence was before it."""
    piece = waveform[:, start:end]
    length = min(length, piece.shape[-1] // 2)
    if not length:
        return piece
    begins_abruptly = start == 0 and abs(float(piece[0, 0])) > 2 * SILENCE
    ends_abruptly = end == waveform.shape[-1] and abs(float(piece[0, -1])) > 2 * SILENCE
    if not (begins_abruptly or ends_abruptly):
        return piece
    piece = piece.clone()
    ramp = torch.arange(length, dtype=piece.dtype) / length
    if begins_abruptly:
        piece[:, :length] *= ramp
    if ends_abruptly:
        piece[:, -length:] *= ramp.flip(0)
    return piece


def sounding(waveform: torch.Tensor) -> tuple[int, int]:
    """First and one past the last sample that is not silence; (0, 0) when all of it is."""
    loud = (waveform[0].abs() > SILENCE).nonzero()
    return (int(loud[0]), int(loud[-1]) + 1) if loud.numel() else (0, 0)
