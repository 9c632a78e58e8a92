"""The chain that every speaking node runs: text -> segments -> codes -> audio."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from ..mizuoto_runtime.audio import Audio
from ..mizuoto_runtime.context import MAX_SEED, RequestContext
from ..mizuoto_runtime.errors import EngineError, InvalidRequest, NothingToSay
from ..mizuoto_runtime.text.split import is_speakable, split
from .artifacts import AudioChunk, Codes, VoicePrompt, require_engine
from .base import LoadedEngine, Manifest, Options, OptionValue, require_task
from .joining import SILENCE, join

MAX_TEXT_CHARS = 250_000  # some five hours of speech, and 1.7 GB of samples


def check_text(text: str) -> str:
    """`text` if there is something to say in it and it is not absurdly long.

    Raises:
        InvalidRequest: Empty, without a letter or digit, or too long for one recording.
    """
    if not is_speakable(text):
        shown = f'"{text.strip()[:40]}" has no letter or digit' if text.strip() else "The text is empty"
        raise InvalidRequest(f"{shown}, so there is nothing to say; type a text with words.")
    if len(text) > MAX_TEXT_CHARS:
        raise InvalidRequest(
            f"The text has {len(text):,} characters; the limit is {MAX_TEXT_CHARS:,}: split it over several runs."
        )
    return text


def segment_texts(text: str, manifest: Manifest) -> list[str]:
    """`text` in pieces that the engine can say at once, none without words."""
    pieces = split(text, manifest.max_text_size, manifest.measure_text)
    return [piece.strip() for piece in pieces if is_speakable(piece)]


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
    parts = []
    for fraction, part in _Script.of(engine, text, voice, options, ctx).codes():
        ctx.progress(fraction, "talker")
        parts.append(part)
    ctx.progress(1.0, "talker")
    return replace(parts[0], segments=tuple(segment for part in parts for segment in part.segments))


def decode(engine: LoadedEngine, codes: Codes, ctx: RequestContext) -> Audio:
    """Audio of `codes`, which must come from the same engine; their seeds count, not the request's.

    Raises:
        InvalidRequest: They come from another one, or hold nothing.
        EngineError: The decoder gave no audio, silence or non-finite samples.
    """
    require_engine(codes, engine.manifest.id)
    if not codes.segments:
        raise InvalidRequest("The codes hold no segment, so there is nothing to decode; connect a Talker.")
    ctx.report.seed = codes.segments[0].seed
    ctx.progress(0.0, "codec decoder")
    total = len(codes.segments)
    parts = (((i + 1) / total, replace(codes, segments=(segment,))) for i, segment in enumerate(codes.segments))
    return _record(engine, parts, ctx)


def speak(
    engine: LoadedEngine, text: str, voice: VoicePrompt | None, options: Options | None, ctx: RequestContext
) -> Audio:
    """Text to audio: the samples that `talk` and `decode` give one after the other, but each segment in one go.

    Raises:
        InvalidRequest: The text, the voice or the options do not fit the engine.
        EngineError: The decoder gave no audio, silence or non-finite samples.
    """
    return _record(engine, _Script.of(engine, text, voice, options, ctx).codes(), ctx)


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
        texts = segment_texts(check_text(text), engine.manifest)
        ctx.report.params = dict(values)
        return cls(engine, texts, voice, values, ctx)

    def codes(self) -> Iterator[tuple[float, Codes]]:
        """Codes of one segment after the other, with the fraction of the text that is done then.

        Raises:
            NothingToSay: No segment holds anything that the engine can say; if only some do not, the report tells.
        """
        refusal: NothingToSay | None = None
        has_any = False
        self.ctx.progress(0.0, "talker")
        for index, text in enumerate(self.texts):
            try:
                part = self._talk(index, text)
            except NothingToSay as error:
                refusal = error
                self.ctx.report.warn_of("left_out", "Left out, since this model cannot say it:", [text[:40]])
                continue
            has_any = True
            yield (index + 1) / len(self.texts), part
        if refusal is not None and not has_any:
            raise refusal

    def _talk(self, index: int, text: str) -> Codes:
        """Codes of one segment, drawn from the segment's own seed."""
        self.ctx.check_cancel()
        seeded = self.ctx.seeded(segment_seed(self.ctx.seed, index, text))
        with torch.inference_mode():
            return self.engine.talk(text, self.voice, self.options, seeded)


def _record(engine: LoadedEngine, parts: Iterator[tuple[float, Codes]], ctx: RequestContext) -> Audio:
    """All segments decoded and joined; each part comes with the fraction that is done after it."""
    waveforms: list[torch.Tensor] = []
    texts: list[str] = []
    sample_rate = engine.manifest.sample_rate
    for fraction, part in parts:
        sample_rate = part.sample_rate
        for segment in part.segments:
            waveforms.append(_waveform(engine, replace(part, segments=(segment,)), ctx))
            texts.append(segment.text)
        ctx.progress(fraction, "codec decoder")
    ctx.report.segments = len(texts)
    audio = Audio(join(waveforms, texts, sample_rate), sample_rate)
    ctx.report.audio_seconds = round(audio.seconds, 4)
    return audio


def _waveform(engine: LoadedEngine, codes: Codes, ctx: RequestContext) -> torch.Tensor:
    """[1, T] of the one segment in `codes`, decoded with the generators of its own seed."""
    ctx.check_cancel()
    (segment,) = codes.segments
    chunks = [chunk.waveform for chunk in _driven(engine.decode(codes, ctx.seeded(segment.seed)))]
    waveform = chunks[0] if len(chunks) == 1 else torch.cat([torch.zeros(1, 0), *chunks], dim=-1)
    low, high = (float(bound) for bound in torch.aminmax(waveform)) if waveform.numel() else (0.0, 0.0)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise EngineError(
            f'The decoder gave non-finite samples for "{segment.text[:40]}"; try dtype fp32 or another seed.'
        )
    if max(-low, high) <= SILENCE:
        raise EngineError(f'The decoder gave silence for "{segment.text[:40]}"; try another seed or text.')
    return waveform


def _driven(chunks: Iterator[AudioChunk]) -> Iterator[AudioChunk]:
    """The same chunks; the engine works in inference mode, whoever takes them does not (S062, S063)."""
    while True:
        with torch.inference_mode():
            chunk = next(chunks, None)
        if chunk is None:
            return
        yield chunk
