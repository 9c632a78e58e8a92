"""Codes into one recording: decoded segment by segment, checked, equally loud, joined."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import torch

from ..mizuoto_runtime.audio import Audio
from ..mizuoto_runtime.context import RequestContext
from ..mizuoto_runtime.errors import EngineError
from ..mizuoto_runtime.spoken import SpokenSegment
from .artifacts import AudioChunk, Codes, Segment
from .base import CanTalk, LoadedEngine
from .joining import SILENCE, Piece, Sound, join, newest, sounding
from .levels import LevelMatch
from .script import Share


@dataclass(frozen=True, slots=True)
class Take:
    """Where a segment is in a recording.

    Attributes:
        text: What is said.
        speaker: By whom; "" for the narrator.
        line: Of the script that it is a part of; 0 where the text is no script.
        seed: From which its draws started.
        start, end: Seconds.
    """

    text: str
    speaker: str
    line: int
    seed: int
    start: float
    end: float


class Recording:
    """Takes segments one after the other and gives the whole.

    Args:
        engine: Who made the codes.
        ctx: The request; what it recorded is reported there, and each finished segment told.
        total: How many segments there will be.
    """

    def __init__(self, engine: LoadedEngine, ctx: RequestContext, total: int) -> None:
        self._engine, self._ctx, self._total = cast(CanTalk, engine), ctx, total
        self._match = LevelMatch()
        self._pieces: list[Piece] = []
        self._segments: list[Segment] = []
        self.sample_rate = engine.manifest.sample_rate
        self.seconds = 0.0  # of speech so far, without the silence around it

    def add(self, codes: Codes, share: Share) -> None:
        """Decode every segment of `codes`.

        Raises:
            EngineError: The decoder gave no audio, silence or non-finite samples.
        """
        for segment in codes.segments:
            if segment.silence_s:
                self.add_pause(segment.silence_s)
            else:
                waveform = decoded(self._engine, replace(codes, segments=(segment,)), self._ctx, share)
                self.add_sound(segment, waveform, codes.sample_rate)
        self._ctx.progress(share.stop, "codec decoder")

    def add_sound(self, segment: Segment, waveform: torch.Tensor, sample_rate: int) -> None:
        """A segment that is decoded already, [1, T]; all of a recording have one sample rate."""
        self.sample_rate = sample_rate
        start, end = sounding(waveform)
        self.seconds += (end - start) / sample_rate
        self._pieces.append(Sound(self._match(waveform, sample_rate), segment.text))
        self._segments.append(segment)
        if self._ctx.on_segment is not None:
            self._ctx.on_segment(self._newest())

    def add_pause(self, seconds: float) -> None:
        """Silence; of two side by side the longer one counts."""
        if self._pieces and not isinstance(self._pieces[-1], Sound):
            self._pieces[-1] = max(self._pieces[-1], seconds)
        else:
            self._pieces.append(seconds)

    def finish(self) -> tuple[Audio, list[Take]]:
        """The recording, and where in it each segment is."""
        waveform, places = join(self._pieces, self.sample_rate)
        audio = Audio(waveform, self.sample_rate)
        self._ctx.report.segments = len(self._segments)
        self._ctx.report.audio_seconds = round(audio.seconds, 4)
        return audio, list(self._takes(places))

    def _newest(self) -> SpokenSegment:
        segment, number = self._segments[-1], len(self._segments)
        audio = Audio(newest(self._pieces, self.sample_rate), self.sample_rate)
        total = max(number, self._total)
        return SpokenSegment(number, total, audio, segment.text, segment.speaker, self.seconds)

    def _takes(self, places: Sequence[tuple[int, int]]) -> Iterator[Take]:
        for segment, (start, end) in zip(self._segments, places, strict=True):
            seconds = (round(at / self.sample_rate, 6) for at in (start, end))
            yield Take(segment.text, segment.speaker, segment.line, segment.seed, *seconds)


def decoded(engine: CanTalk, codes: Codes, ctx: RequestContext, share: Share) -> torch.Tensor:
    """[1, T] of the one segment in `codes`, decoded with the generators of its own seed.

    Raises:
        EngineError: The decoder gave no audio, silence or non-finite samples.
    """
    ctx.check_cancel()
    (segment,) = codes.segments
    chunks = [chunk.waveform for chunk in driven(engine.decode(codes, share.context(ctx, segment.seed)))]
    waveform = chunks[0] if len(chunks) == 1 else torch.cat([torch.zeros(1, 0), *chunks], dim=-1)
    low, high = (float(bound) for bound in torch.aminmax(waveform)) if waveform.numel() else (0.0, 0.0)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise EngineError(
            f'The decoder gave non-finite samples for "{segment.text[:40]}"; try dtype fp32 or another seed.'
        )
    if max(-low, high) <= SILENCE:
        raise EngineError(f'The decoder gave silence for "{segment.text[:40]}"; try another seed or text.')
    return waveform


def driven(chunks: Iterator[AudioChunk]) -> Iterator[AudioChunk]:
    """The same chunks; the engine works in inference mode, whoever takes them does not (S062, S063)."""
    while True:
        with torch.inference_mode():
            chunk = next(chunks, None)
        if chunk is None:
            return
        yield chunk
