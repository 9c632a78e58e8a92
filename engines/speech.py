"""The chain that every speaking node runs: text -> segments -> codes -> audio."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import torch

from ..mizuoto_runtime.audio import Audio
from ..mizuoto_runtime.context import MAX_SEED, RequestContext
from ..mizuoto_runtime.errors import EngineError, InvalidRequest, NothingToSay
from ..mizuoto_runtime.text.split import is_speakable, split
from .artifacts import AudioChunk, Codes, VoicePrompt, require_engine
from .base import CanTalk, CanTalkInBatches, LoadedEngine, Manifest, Options, OptionValue, require_task
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


def batch_size(manifest: Manifest, options: Options | None) -> int:
    """How many segments the engine is asked to work on at once."""
    return _batch_size(manifest, manifest.resolve(options))


def talk(
    engine: LoadedEngine, text: str, voice: VoicePrompt | None, options: Options | None, ctx: RequestContext
) -> Codes:
    """Codes of a whole text, segment by segment.

    Raises:
        InvalidRequest: The text, the voice or the options do not fit the engine.
    """
    return talk_list(engine, [(text, ctx.seed)], voice, options, ctx)[0]


def talk_list(
    engine: LoadedEngine,
    texts: Sequence[tuple[str, int]],
    voice: VoicePrompt | None,
    options: Options | None,
    ctx: RequestContext,
) -> list[Codes]:
    """Codes of several (text, seed) pairs in order; engines with a `batch_size` above 1 work on many segments at once.

    Raises:
        InvalidRequest: A text, the voice or the options do not fit the engine.
    """
    script = _Script.of(engine, texts, voice, options, ctx)
    parts: list[list[Codes]] = [[] for _ in texts]
    for line, part in script.codes():
        ctx.progress(script.fraction(line), "talker")
        parts[line.text_number].append(part)
    ctx.progress(1.0, "talker")
    return [replace(of[0], segments=tuple(segment for part in of for segment in part.segments)) for of in parts]


def decode(engine: LoadedEngine, codes: Codes, ctx: RequestContext) -> Audio:
    """Audio of `codes`, which must come from the same engine; their seeds count, not the request's.

    Raises:
        Unsupported: The engine does not speak.
        InvalidRequest: They come from another one, or hold nothing.
        EngineError: The decoder gave no audio, silence or non-finite samples.
    """
    require_task(engine.manifest, "tts")
    require_engine(codes, engine.manifest.id)
    if not codes.segments:
        raise InvalidRequest("The codes hold no segment, so there is nothing to decode; connect a Talker.")
    ctx.report.seed = codes.segments[0].seed
    ctx.progress(0.0, "codec decoder")
    total = len(codes.segments)
    parts = (
        (_Share(i / total, (i + 1) / total), replace(codes, segments=(segment,)))
        for i, segment in enumerate(codes.segments)
    )
    return _record(engine, parts, ctx)


def speak(
    engine: LoadedEngine, text: str, voice: VoicePrompt | None, options: Options | None, ctx: RequestContext
) -> Audio:
    """Text to audio: the samples that `talk` and `decode` give one after the other, but each segment in one go.

    Raises:
        InvalidRequest: The text, the voice or the options do not fit the engine.
        EngineError: The decoder gave no audio, silence or non-finite samples.
    """
    script = _Script.of(engine, [(text, ctx.seed)], voice, options, ctx)
    said = ((script.fraction(line), part) for line, part in script.codes())
    return _record(engine, ((_Share(fraction, fraction), part) for fraction, part in said), ctx)


@dataclass(frozen=True, slots=True)
class _Share:
    """What one engine call is of the whole request: where its own progress from 0 to 1 begins and ends."""

    start: float
    stop: float

    def context(self, ctx: RequestContext, seed: int) -> RequestContext:
        """`ctx` for that call, with generators from `seed`."""
        own = ctx.seeded(seed)
        own.progress = lambda fraction, what: ctx.progress(self.start + (self.stop - self.start) * fraction, what)
        return own


@dataclass(frozen=True, slots=True)
class _Line:
    """One segment of one of the texts."""

    number: int  # in the whole script
    text_number: int
    text: str
    seed: int


@dataclass(frozen=True, slots=True)
class _Script:
    """A checked request to say something: what, in which voice, with which options."""

    engine: CanTalk
    lines: list[_Line]
    voice: VoicePrompt | None
    options: dict[str, OptionValue]
    ctx: RequestContext

    @classmethod
    def of(
        cls,
        engine: LoadedEngine,
        texts: Sequence[tuple[str, int]],
        voice: VoicePrompt | None,
        options: Options | None,
        ctx: RequestContext,
    ) -> _Script:
        require_task(engine.manifest, "tts")
        values = engine.manifest.resolve(options)
        if voice is not None:
            require_engine(voice, engine.manifest.id)
        lines: list[_Line] = []
        for text_number, (text, seed) in enumerate(texts):
            try:
                check_text(text)
            except InvalidRequest as error:
                raise _of_list(error, text_number, len(texts)) from None
            for index, piece in enumerate(segment_texts(text, engine.manifest)):
                lines.append(_Line(len(lines), text_number, piece, segment_seed(seed, index, piece)))
        first_voice = engine.manifest.voices[0] if engine.manifest.voices else ""
        ctx.report.params = {**values, "voice": voice.name if voice else first_voice}
        return cls(cast(CanTalk, engine), lines, voice, values, ctx)

    def fraction(self, line: _Line) -> float:
        """How much is done when the codes of `line` are there, and with them those of its whole group."""
        size = self.group_size
        return min(1.0, (line.number // size + 1) * size / len(self.lines))

    @property
    def group_size(self) -> int:
        """How many lines are said at once."""
        return _batch_size(self.engine.manifest, self.options)

    def codes(self) -> Iterator[tuple[_Line, Codes]]:
        """Codes of one segment after the other.

        Raises:
            NothingToSay: A text has no segment that the engine can say; if only some cannot be said, the report tells.
        """
        refusals: dict[int, NothingToSay] = {}
        said: set[int] = set()
        self.ctx.progress(0.0, "talker")
        size = self.group_size
        for start in range(0, len(self.lines), size):
            group = self.lines[start : start + size]
            try:
                parts = self._talk(group)
            except NothingToSay as error:
                refusals.update((line.text_number, error) for line in group)
                left_out = [line.text[:40] for line in group]
                self.ctx.report.warn_of("left_out", "Left out, since this model cannot say it:", left_out)
                continue
            said.update(line.text_number for line in group)
            yield from zip(group, parts, strict=True)
        for text_number, refusal in refusals.items():
            if text_number not in said:
                raise refusal

    def _talk(self, group: list[_Line]) -> list[Codes]:
        """Codes of one segment, drawn from the segment's own seed; of several, from the seed of the first."""
        self.ctx.check_cancel()
        share = _Share(group[0].number / len(self.lines), self.fraction(group[0]))
        seeded = share.context(self.ctx, group[0].seed)
        with torch.inference_mode():
            if len(group) == 1:
                return [self.engine.talk(group[0].text, self.voice, self.options, seeded)]
            batching = cast(CanTalkInBatches, self.engine)
            return batching.talk_batch([line.text for line in group], self.voice, self.options, seeded)


def _of_list(error: InvalidRequest, index: int, total: int) -> InvalidRequest:
    """The same error with the place of its text, where there are several."""
    return error if total == 1 else InvalidRequest(f"Text {index + 1} of {total}: {error}")


def _batch_size(manifest: Manifest, options: dict[str, OptionValue]) -> int:
    return min(manifest.max_batch, int(options.get("batch_size", 1)))


def _record(engine: LoadedEngine, parts: Iterator[tuple[_Share, Codes]], ctx: RequestContext) -> Audio:
    """All segments decoded and joined; each part comes with its share of the request."""
    waveforms: list[torch.Tensor] = []
    texts: list[str] = []
    sample_rate = engine.manifest.sample_rate
    for share, part in parts:
        sample_rate = part.sample_rate
        for segment in part.segments:
            waveforms.append(_waveform(engine, replace(part, segments=(segment,)), ctx, share))
            texts.append(segment.text)
        ctx.progress(share.stop, "codec decoder")
    ctx.report.segments = len(texts)
    audio = Audio(join(waveforms, texts, sample_rate), sample_rate)
    ctx.report.audio_seconds = round(audio.seconds, 4)
    return audio


def _waveform(engine: LoadedEngine, codes: Codes, ctx: RequestContext, share: _Share) -> torch.Tensor:
    """[1, T] of the one segment in `codes`, decoded with the generators of its own seed."""
    ctx.check_cancel()
    (segment,) = codes.segments
    chunks = [
        chunk.waveform for chunk in _driven(cast(CanTalk, engine).decode(codes, share.context(ctx, segment.seed)))
    ]
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
