"""OmniVoice behind the engine contract: loading, and the three phases on the memory runtime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import torch

from ...mizuoto_runtime.audio import Audio
from ...mizuoto_runtime.context import RequestContext
from ...mizuoto_runtime.runtime import Runtime
from ...mizuoto_runtime.text.bpe import ByteBpe
from ..artifacts import AudioChunk, Codes, Segment, VoicePrompt
from ..base import LoadSpec
from .attributes import resolved
from .checkpoint import Components, read_components
from .chunks import chunk_size, chunks
from .codec import LENGTHS, TIDIED, CodecDecoder, take_of
from .config import TalkerConfig
from .duration import FRAME_RATE_HZ, estimated_frames
from .generation import Choices, generate
from .keys import CODEC, TALKER, VOICE
from .languages import language_tag
from .manifest import MANIFEST, SAMPLE_RATE
from .prompt import Prompt, PromptBuilder, Style
from .sound import Finish, finished, joined
from .talker import Talker
from .voice import (
    ATTRIBUTES,
    CODES,
    INVENTED,
    LEVEL,
    TRANSCRIPT,
    Reference,
    VoiceEncoder,
    prepared,
    reference_of,
    with_stop,
)
from .workload import codec_bytes, talker_bytes, voice_bytes

PADDING_S = 0.1
LONG_REFERENCE_S = 20.0


class OmniVoiceEngine:
    """Loads the official checkpoint and fine-tunes of it."""

    manifest = MANIFEST

    def load(self, spec: LoadSpec, runtime: Runtime) -> LoadedOmniVoice:
        """Read the checkpoint in `spec.folder`; see `Engine.load`."""
        config = TalkerConfig.read(spec.folder)
        bpe = ByteBpe.from_folder(spec.folder)
        return LoadedOmniVoice(config, bpe, read_components(spec.folder, config, spec.dtype), spec, runtime)


class LoadedOmniVoice:
    """One checkpoint in memory; implements `CanTalk`, `CanCloneVoice`, `CanDesignVoice` and `CanKeepVoice`."""

    manifest = MANIFEST

    def __init__(
        self, config: TalkerConfig, bpe: ByteBpe, components: Components, spec: LoadSpec, runtime: Runtime
    ) -> None:
        self._config = config
        self._prompt = PromptBuilder(config, bpe)
        self._element_bytes = spec.dtype.itemsize
        modules = {VOICE: components.voice, TALKER: components.talker, CODEC: components.codec}
        self._voice, self._talker, self._codec = self.handles = tuple(
            runtime.handle(f"{MANIFEST.id}:{name}", module, spec.device) for name, module in modules.items()
        )

    def voice_prompt(self, reference: Audio, transcript: str | None, ctx: RequestContext) -> VoicePrompt:
        """Codes and level of the recording, and its words if they are known; see `CanCloneVoice`.

        Raises:
            InvalidRequest: It is long, without words, and begins with silence.
        """
        words = with_stop(transcript or "")
        waveform, level = prepared(reference, bool(words))
        seconds = len(waveform) / SAMPLE_RATE
        if seconds > LONG_REFERENCE_S:
            ctx.report.warn("long_reference", f"The reference is {seconds:.0f} s long; 3 to 10 s clone better, faster.")
        if not words:
            ctx.report.warn("no_transcript", "The words of the reference are unknown; with them the voice is closer.")
        handle = self._voice
        encoder = cast(VoiceEncoder, handle.module)

        def encoded() -> torch.Tensor:
            return encoder(waveform[None, None].to(handle.compute_device))[0].cpu()

        codes = ctx.run("voice prompt", [handle], encoded, voice_bytes(encoder.config, seconds))
        tensors = {CODES: codes, LEVEL: torch.tensor([level], dtype=torch.float64)}
        return VoicePrompt(MANIFEST.id, "clone", tensors, {TRANSCRIPT: words} if words else {})

    def design_voice(self, description: str, ctx: RequestContext) -> VoicePrompt:
        """A voice of attributes, which the model reads with every text; see `CanDesignVoice`.

        Raises:
            InvalidRequest: An attribute is unknown, or two exclude each other.
        """
        return VoicePrompt(MANIFEST.id, description[:40], facts={ATTRIBUTES: resolved(description)})

    def voice_from(self, codes: Codes, voice: VoicePrompt | None, options: Mapping[str, Any]) -> VoicePrompt:
        """The first chunk of a segment and its words, from which its other chunks go on, too; see `CanKeepVoice`."""
        segment = codes.segments[0]
        words = self._parts(segment.text, None, options)[0][0][0]
        first = segment.tensors[CODES][:, : int(segment.tensors[LENGTHS][0])]
        facts = {**(voice.facts if voice else {}), TRANSCRIPT: words, INVENTED: "yes"}
        return VoicePrompt(MANIFEST.id, "invented", {CODES: first, LEVEL: torch.zeros(1, dtype=torch.float64)}, facts)

    def talk(self, text: str, voice: VoicePrompt | None, options: Mapping[str, Any], ctx: RequestContext) -> Codes:
        """Codes of one segment, of a long one chunk by chunk; see `CanTalk.talk`.

        Raises:
            InvalidRequest: The voice, the language or the attributes are not for this model, or the text is too long.
            EngineError: The numbers overflowed.
        """
        reference = reference_of(voice, self._config)
        designed = voice.facts.get(ATTRIBUTES, "") if voice else ""
        asked = ", ".join(part for part in (designed, str(options["attributes"]).strip()) if part)
        style = Style(language_tag(options["language"]), resolved(asked, text), options["denoise"])
        parts, speed = self._parts(text, reference, options)
        first, made = reference, []
        for number, (part, frames) in enumerate(parts):
            with ctx.report.timed("text"):
                prompt = self._prompt(part, first, style, frames or _frames(part, first, speed))
            made.append(self._said(prompt, options, ctx, (number, len(parts))))
            if first is None:  # the voice that the model invented is kept for the rest
                first = Reference(made[0], part, 0.0)
        tensors = {CODES: torch.cat(made, dim=1), LENGTHS: torch.tensor([chunk.shape[1] for chunk in made])}
        if reference and voice and INVENTED not in voice.facts:
            tensors[LEVEL] = torch.tensor([reference.level], dtype=torch.float64)
        if options["cut_silence"]:
            tensors[TIDIED] = torch.ones(1, dtype=torch.bool)
        return Codes(MANIFEST.id, SAMPLE_RATE, (Segment(text, ctx.seed, tensors),))

    def decode(self, codes: Codes, ctx: RequestContext) -> Iterator[AudioChunk]:
        """One chunk a segment: its level and its silences are those of the whole; see `CanTalk.decode`.

        Raises:
            InvalidRequest: The codes are of another checkpoint, or damaged.
        """
        for segment in codes.segments:
            take = take_of(segment)
            whole = joined([self._decoded(chunk, ctx) for chunk in take.chunks])
            waveform = finished(whole, Finish(take.level, take.is_tidied, PADDING_S))
            yield AudioChunk(waveform[None], codes.sample_rate)

    def _parts(
        self, text: str, reference: Reference | None, options: Mapping[str, Any]
    ) -> tuple[list[tuple[str, int | None]], float]:
        """The text in one piece with its frames, or in several of unknown length, and the pace of those.

        Source: OmniVoice._preprocess_all and _generate_chunked, omnivoice 0.2.1.
        """
        seconds, speed = options["seconds"], options["speed"]
        frames = _frames(text, reference, speed if not seconds else 1.0)
        if seconds:
            wanted = max(1, int(seconds * FRAME_RATE_HZ))
            frames, speed = wanted, frames / wanted
        if frames <= int(options["chunk_from_seconds"] * FRAME_RATE_HZ):
            return [(text, frames)], speed
        pieces = chunks(text, chunk_size(text, frames, options["chunk_seconds"]))
        return [(piece, None) for piece in pieces], speed

    def _said(
        self, prompt: Prompt, options: Mapping[str, Any], ctx: RequestContext, place: tuple[int, int]
    ) -> torch.Tensor:
        """Codes [K, frames] of one chunk; `place` is its number and how many there are."""
        choices = _choices(options)
        handle = self._talker
        talker, device = cast(Talker, handle.module), handle.compute_device
        generator = ctx.generator_for(handle.load_device)

        def check(step: int) -> None:
            ctx.check_cancel()
            ctx.progress((place[0] + step / choices.steps) / place[1], "talker")

        def found() -> torch.Tensor:
            return generate(talker, prompt, choices, generator, device, check)

        is_noisy, rows = choices.class_temperature > 0, 2 if choices.guidance else 1
        working_bytes = talker_bytes(self._config, prompt, rows, is_noisy, self._element_bytes)
        return ctx.run("talker", [handle], found, working_bytes)

    def _decoded(self, codes: torch.Tensor, ctx: RequestContext) -> torch.Tensor:
        """[T] of one chunk's codes [K, frames]."""
        ctx.check_cancel()
        handle = self._codec
        codec = cast(CodecDecoder, handle.module)

        def decoded() -> torch.Tensor:
            return codec(codes[None].to(handle.compute_device))[0, 0].cpu()

        seconds = codes.shape[1] / FRAME_RATE_HZ
        return ctx.run("codec decoder", [handle], decoded, codec_bytes(codec.config, seconds))


def _frames(text: str, reference: Reference | None, speed: float) -> int:
    if reference is None:
        return estimated_frames(text, "", 0, speed)
    return estimated_frames(text, reference.words, reference.codes.shape[1], speed)


def _choices(options: Mapping[str, Any]) -> Choices:
    names = ("steps", "guidance", "t_shift", "layer_penalty", "position_temperature", "class_temperature")
    return Choices(**{name: options[name] for name in names})


ENGINE = OmniVoiceEngine()
