"""Where everything is in a spoken script: as data, as subtitles, and line by line as sound."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby

from ..mizuoto_runtime.audio import Audio
from . import subtitles
from .recording import Take


def to_json(takes: Sequence[Take]) -> str:
    """A list with text, speaker, line, seed, start and end in seconds of every segment."""
    return json.dumps([asdict(take) for take in takes], ensure_ascii=False, indent=1)


def to_subtitles(takes: Sequence[Take], format: str = "srt") -> str:
    """Every segment as readable subtitles; where there are several speakers, with their names."""
    names = len({take.speaker for take in takes}) > 1
    timed = [
        (take.start, take.end, f"{take.speaker}: {take.text}" if names and take.speaker else take.text)
        for take in takes
    ]
    return subtitles.render(subtitles.readable(timed), format)


def lines(audio: Audio, takes: Sequence[Take]) -> list[Audio]:
    """The sound of every line of the script, without pauses around it; of every segment where there are no lines."""
    return [_cut(audio, of[0].start, of[-1].end) for of in _by_line(takes)]


def _by_line(takes: Sequence[Take]) -> Iterator[list[Take]]:
    for line, group in groupby(takes, key=lambda take: take.line):
        of = list(group)
        yield from [of] if line else ([take] for take in of)


def _cut(audio: Audio, start: float, end: float) -> Audio:
    first, last = (round(at * audio.sample_rate) for at in (start, end))
    return Audio(audio.waveform[:, first:last].clone(), audio.sample_rate)
