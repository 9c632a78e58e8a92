"""The chain that every speaking node runs: text -> segments -> codes -> audio."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from ..mizuoto_runtime.audio import Audio
from ..mizuoto_runtime.context import MAX_SEED, RequestContext
from ..mizuoto_runtime.errors import EngineError, InvalidRequest
from ..mizuoto_runtime.text.split import is_speakable, split
from .artifacts import AudioChunk, Codes, VoicePrompt, require_engine
from .base import LoadedEngine, Options, OptionValue, require_task

MAX_TEXT_CHARS = 1_000_000


def check_text(text: str) -> str:
    """`text` if there is something to say in it and it is not absurdly long.

    Raises:
        InvalidRequest: Empty, without a letter or digit, or over a million characters.
    """
    if not is_speakable(text):
        shown = f'"{text.strip()[:40]}" has no letter or digit' if text.strip() else "The text is empty"
        raise InvalidRequest(f"{shown}, so there is nothing to say; type a text with words.")
    if len(text) > MAX_TEXT_CHARS:
        raise InvalidRequest(
            f"The text has {len(text):,} characters; the limit is {MAX_TEXT_CHARS:,}: split it over several runs."
        )
    return text


def segment_texts(text: str, max_chars: int) -> list[str]:
    """`text` in pieces that an engine can say at once, none without words."""
    return [piece.strip() for piece in split(text, max_chars) if is_speakable(piece)]


def segment_seed(seed: int, index: int, text: str) -> int:
    """The seed of one segment: the request's own for the first, for others one derived from seed, place and text.

    So a change in segment 3 leaves segments 1 and 2 as they were, and a text of one segment behaves like a plain call.
    """
    if index == 0:
        return seed
    digest = hashlib.blake2b(f"{seed}/{index}/{text}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") & MAX_SEED


def talk(
    engine: LoadedEngine, text: str, voice: VoicePrompt | None, options: Options | None, ctx: RequestContext
) -> Codes:
    """Codes of a whole text, segment by segment.

    Raises:
        InvalidRequest: The text, the voice or the options do not fit the engine.
    """
    script = _Script.of(engine, text, voice, options, ctx)
    parts = []
    for index in range(len(script.texts)):
        ctx.progress(index / len(script.texts), "talker")
        parts.append(script.talk(index))
    ctx.progress(1.0, "talker")
    return replace(parts[0], segments=tuple(segment for part in parts for segment in part.segments))


def decode(engine: LoadedEngine, codes: Codes, ctx: RequestContext) -> Audio:
    """Audio of `codes`, which must come from the same engine; their seeds count, not the request's.

    Raises:
        InvalidRequest: They come from another one, or hold nothing.
        EngineError: The decoder gave no or non-finite audio.
    """
    require_engine(codes, engine.manifest.id)
    if not codes.segments:
        raise InvalidRequest("The codes hold no segment, so there is nothing to decode; connect a Talker.")
    ctx.report.seed = codes.segments[0].seed
    ctx.report.segments = len(codes.segments)
    return _joined(_decoded(engine, codes, ctx, len(codes.segments)), ctx)


def speak(
    engine: LoadedEngine, text: str, voice: VoicePrompt | None, options: Options | None, ctx: RequestContext
) -> Audio:
    """Text to audio: the samples that `talk` and `decode` give one after the other, but each segment in one go.

    Raises:
        InvalidRequest: The text, the voice or the options do not fit the engine.
        EngineError: The decoder gave no or non-finite audio.
    """
    script = _Script.of(engine, text, voice, options, ctx)
    total = len(script.texts)
    return _joined(
        (chunk for index in range(total) for chunk in _decoded(engine, script.talk(index), ctx, total, index)), ctx
    )


@dataclass(frozen=True, slots=True)
class _Script:
    """A checked request to say something: what, in which voice, with which options."""

    engine: LoadedEngine
    texts: list[str]
    voice: VoicePrompt | None
    options: dict[str, OptionValue]
    ctx: RequestContext

    @classmethod
    def of(
        cls, engine: LoadedEngine, text: str, voice: VoicePrompt | None, options: Options | None, ctx: RequestContext
    ) -> _Script:
        require_task(engine.manifest, "tts")
        values = engine.manifest.resolve(options)
        if voice is not None:
            require_engine(voice, engine.manifest.id)
        texts = segment_texts(check_text(text), engine.manifest.max_text_chars)
        ctx.report.segments, ctx.report.params = len(texts), dict(values)
        return cls(engine, texts, voice, values, ctx)

    def talk(self, index: int) -> Codes:
        """Codes of one segment, drawn from the segment's own seed."""
        self.ctx.check_cancel()
        seeded = self.ctx.seeded(segment_seed(self.ctx.seed, index, self.texts[index]))
        with torch.inference_mode():
            return self.engine.talk(self.texts[index], self.voice, self.options, seeded)


def _decoded(
    engine: LoadedEngine, codes: Codes, ctx: RequestContext, total: int, first: int = 0
) -> Iterator[AudioChunk]:
    """Chunks of `codes`, each segment with the generators of its own seed; `total` and `first` are for the progress."""
    for index, segment in enumerate(codes.segments, first):
        ctx.check_cancel()
        ctx.progress(index / total, "codec decoder")
        for chunk in _driven(engine.decode(replace(codes, segments=(segment,)), ctx.seeded(segment.seed))):
            if not math.isfinite(chunk.waveform.sum()):  # one NaN or infinity makes the sum one
                raise EngineError(
                    f'The decoder gave non-finite samples for "{segment.text[:40]}"; try dtype fp32 or another seed.'
                )
            yield replace(chunk, segment=index)
    ctx.progress((first + len(codes.segments)) / total, "codec decoder")


def _driven(chunks: Iterator[AudioChunk]) -> Iterator[AudioChunk]:
    """The same chunks; the engine works in inference mode, whoever takes them does not (S062, S063)."""
    while True:
        with torch.inference_mode():
            chunk = next(chunks, None)
        if chunk is None:
            return
        yield chunk


def _joined(chunks: Iterator[AudioChunk], ctx: RequestContext) -> Audio:
    pieces = list(chunks)
    if not pieces or not sum(piece.waveform.shape[-1] for piece in pieces):
        raise EngineError("The engine made no audio; nothing is returned in its place. Try another seed or text.")
    waveform = pieces[0].waveform if len(pieces) == 1 else torch.cat([piece.waveform for piece in pieces], dim=-1)
    audio = Audio(waveform, pieces[0].sample_rate)
    ctx.report.audio_seconds = round(audio.seconds, 4)
    return audio
