"""Long recordings into pieces, cut where it is quiet."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F

from ...mizuoto_runtime.audio import Audio
from ...mizuoto_runtime.context import RequestContext
from ...mizuoto_runtime.nn.whisper_mel import MIN_SAMPLES, SAMPLE_RATE
from ...mizuoto_runtime.vad import Span, SpeechRules, speech_spans

SEARCH_SAMPLES = 5 * SAMPLE_RATE  # to both sides of the longest length
QUIET_SAMPLES = SAMPLE_RATE // 10  # over so many, loudness is summed up
SHORTEST_SAMPLES = SAMPLE_RATE // 2
SUBTITLE_S = 30.0  # of a part that is to become subtitles
MARGIN_S = 0.2  # around the speech of a part


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a recording.

    Attributes:
        waveform: [T], followed by silence where the part is too short for the model.
        start, end: Seconds from the beginning of the recording.
    """

    waveform: torch.Tensor
    start: float
    end: float

    @property
    def seconds(self) -> float:
        """Length of the part."""
        return self.end - self.start


def pieces(waveform: torch.Tensor, max_seconds: float) -> list[Piece]:
    """`waveform` [T] at 16 kHz in parts of about `max_seconds` at most, nothing lost and nothing twice.

    Source: split_audio_into_chunks, qwen-asr 0.0.6 inference/utils.py; a recording without a spectrogram, for which it
    has no result, is filled up as its parts are.
    """
    total, longest = len(waveform), int(max_seconds * SAMPLE_RATE)
    if total <= max_seconds * SAMPLE_RATE:
        return [Piece(_filled(waveform) if total < MIN_SAMPLES else waveform, 0.0, total / SAMPLE_RATE)]
    loudness, cuts = waveform.abs().numpy(), [0]
    while total - cuts[-1] > longest:
        cuts.append(_quiet_place(loudness, cuts[-1], cuts[-1] + longest))
    return [
        Piece(_filled(waveform[start:end]), start / SAMPLE_RATE, end / SAMPLE_RATE)
        for start, end in zip(cuts, [*cuts[1:], total], strict=True)
    ]


def spoken_pieces(waveform: torch.Tensor, max_seconds: float, ctx: RequestContext) -> list[Piece]:
    """The speech in `waveform` [T] at 16 kHz, in parts that begin and end in pauses; silence is in none of them.

    A part has one or several stretches of speech, up to `max_seconds` and to `SUBTITLE_S`; speech without a pause is
    cut where it is least likely to be speech. Beyond upstream, which cuts by loudness.
    """
    longest = min(max_seconds, SUBTITLE_S)
    with ctx.report.timed("voice detector"):
        rules = SpeechRules(max_speech_s=longest - 2 * MARGIN_S)
        spans = speech_spans(Audio(waveform[None], SAMPLE_RATE), rules, ctx.check_cancel, is_levelled=True)
    groups: list[list[Span]] = []
    for span in spans:
        if groups and span.end - groups[-1][0].start <= longest - 2 * MARGIN_S:
            groups[-1].append(span)
        else:
            groups.append([span])
    middles = [(one[-1].end + other[0].start) / 2 for one, other in pairwise(groups)]
    limits = pairwise([0.0, *middles, len(waveform) / SAMPLE_RATE])
    return [
        _part(waveform, max(after, group[0].start - MARGIN_S), min(before, group[-1].end + MARGIN_S))
        for group, (after, before) in zip(groups, limits, strict=bool(groups))
    ]


def _part(waveform: torch.Tensor, start: float, end: float) -> Piece:
    return Piece(_filled(waveform[round(start * SAMPLE_RATE) : round(end * SAMPLE_RATE)]), start, end)


def _quiet_place(loudness: np.ndarray, start: int, wanted: int) -> int:
    """The quietest sample of the quietest tenth of a second near `wanted`, after `start`."""
    first, last = max(start, wanted - SEARCH_SAMPLES), min(len(loudness), wanted + SEARCH_SAMPLES)
    near = loudness[first:last]
    if len(near) <= QUIET_SAMPLES:
        return max(wanted, start + 1)
    # Not a running sum, which is faster: it rounds otherwise, and the place is to be upstream's.
    sums = np.convolve(near, np.ones(QUIET_SAMPLES, np.float32), mode="valid")
    quietest = int(np.argmin(sums))
    within = int(np.argmin(near[quietest : quietest + QUIET_SAMPLES]))
    return max(first + quietest + within, start + 1)


def _filled(waveform: torch.Tensor) -> torch.Tensor:
    return F.pad(waveform, (0, max(0, SHORTEST_SAMPLES - len(waveform))))
