"""Silence found and cut by the rules of pydub, which several models' references and takes went through.

Everything is counted in whole milliseconds on 16-bit samples: a window is silent by its rounded root mean square.

Source: pydub 0.25.1, silence.py and audio_segment.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import torch

_FULL_SCALE = 32768
_STEP_MS = 10
_EDGE_DB = -50.0


@dataclass(frozen=True, slots=True)
class Clip:
    """A recording in 16 bits.

    Attributes:
        samples: [T] int16.
        sample_rate: Hz.
    """

    samples: torch.Tensor
    sample_rate: int

    @classmethod
    def from_waveform(cls, waveform: torch.Tensor, sample_rate: int) -> Clip:
        """The clip of [T] float samples on the CPU; what is beyond full scale is clipped."""
        return cls((waveform * float(_FULL_SCALE)).clip(-_FULL_SCALE, _FULL_SCALE - 1).to(torch.int16), sample_rate)

    @property
    def waveform(self) -> torch.Tensor:
        """[T] float32."""
        return self.samples.float() / float(_FULL_SCALE)

    @property
    def length(self) -> int:
        """Milliseconds, rounded: up to half of one may be missing at the end."""
        return round(1000 * (len(self.samples) / self.sample_rate))

    def cut(self, start: int, end: int) -> Clip:
        """From one millisecond to another; what is missing at the end is silence, unless there is nothing at all."""
        first, last = (int(min(at, self.length) * (self.sample_rate / 1000.0)) for at in (start, end))
        piece = self.samples[first:last]
        if len(piece):
            piece = torch.cat([piece, piece.new_zeros(last - first - len(piece))])
        return Clip(piece, self.sample_rate)

    def reversed(self) -> Clip:
        """Backwards."""
        return Clip(self.samples.flip(0), self.sample_rate)

    def levels(self, starts: torch.Tensor, width: int) -> torch.Tensor:
        """Rounded root mean square of the windows of `width` milliseconds that begin at `starts`, int64."""
        sums = torch.zeros(len(self.samples) + 1, dtype=torch.int64)
        torch.cumsum(self.samples.long().square(), 0, out=sums[1:])
        first, last = (
            (at.clamp(max=self.length).double() * (self.sample_rate / 1000.0)).long() for at in (starts, starts + width)
        )
        within = len(self.samples)
        energy = sums[last.clamp(max=within)] - sums[first.clamp(max=within)]
        return (energy.double() / (last - first).clamp(min=1)).sqrt().long()


def sounding_ranges(clip: Clip, shortest: int, decibels: float) -> list[tuple[int, int]]:
    """What lies between silences, as pairs of milliseconds.

    Args:
        clip: A recording.
        shortest: Milliseconds that a silence takes at least.
        decibels: Level of full scale up to which a window counts as silent.
    """
    silent = _silent_ranges(clip, shortest, decibels)
    if silent and silent[0] == [0, clip.length]:
        return []
    edges = [0, *(edge for pair in silent for edge in pair), clip.length]
    ranges = list(zip(edges[::2], edges[1::2], strict=True))
    if silent and ranges[-1][0] == ranges[-1][1]:
        ranges.pop()
    if silent and ranges[0] == (0, 0):
        ranges.pop(0)
    return ranges


def split_at_silence(clip: Clip, shortest: int, decibels: float, keep: int) -> list[Clip]:
    """The sounding parts of a clip with up to `keep` milliseconds of silence around each; neighbours share fairly."""
    ranges = [[start - keep, end + keep] for start, end in sounding_ranges(clip, shortest, decibels)]
    for left, right in pairwise(ranges):
        if right[0] < left[1]:
            left[1] = right[0] = (left[1] + right[0]) // 2
    return [clip.cut(max(start, 0), min(end, clip.length)) for start, end in ranges]


def trim_edges(clip: Clip, lead: int, trail: int, decibels: float = _EDGE_DB) -> Clip:
    """The clip without the silence at both ends, but for `lead` and `trail` milliseconds of it."""
    for kept in (lead, trail):
        clip = clip.cut(max(0, _leading_silence(clip, decibels) - kept), clip.length).reversed()
    return clip


def without_silence(
    waveform: torch.Tensor, sample_rate: int, *, middle: int, lead: int, trail: int, decibels: float = _EDGE_DB
) -> torch.Tensor:
    """[T] float32 with long pauses shortened and both ends trimmed; the samples of the result are 16-bit ones.

    Args:
        waveform: [T] on the CPU.
        sample_rate: Hz.
        middle: Milliseconds from which on a pause is shortened, and what is left of it on each side.
        lead: Milliseconds of silence left in front.
        trail: The same at the end.
        decibels: Level of full scale up to which a window counts as silent.
    """
    parts = split_at_silence(Clip.from_waveform(waveform, sample_rate), middle, decibels, middle)
    samples = torch.cat([part.samples for part in parts]) if parts else torch.zeros(0, dtype=torch.int16)
    return trim_edges(Clip(samples, sample_rate), lead, trail, decibels).waveform


def _silent_ranges(clip: Clip, shortest: int, decibels: float) -> list[list[int]]:
    """Milliseconds [start, end) where every window of `shortest` stays at or below the level."""
    last = clip.length - shortest
    if last < 0:
        return []
    starts = torch.tensor([*range(0, last + 1, _STEP_MS), *([last] if last % _STEP_MS else [])])
    quiet: list[int] = starts[clip.levels(starts, shortest) <= _level_of(decibels)].tolist()
    ranges: list[list[int]] = []
    previous = -math.inf
    for start in quiet:
        if start <= max(previous + shortest, previous + _STEP_MS):
            ranges[-1][1] = start + shortest
        else:
            ranges.append([start, start + shortest])
        previous = start
    return ranges


def _leading_silence(clip: Clip, decibels: float) -> int:
    """Milliseconds before the first step that is not below the level."""
    starts = torch.arange(0, clip.length, _STEP_MS)
    loud = (clip.levels(starts, _STEP_MS) >= _level_of(decibels)).nonzero()
    return int(starts[loud[0, 0]]) if len(loud) else clip.length


def _level_of(decibels: float) -> float:
    return 10 ** (decibels / 20) * _FULL_SCALE
