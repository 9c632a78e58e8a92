"""Qwen3-TTS behind the engine contract: loading, and the three phases on the memory runtime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, cast

import torch

from ...mizuoto_runtime.audio import Audio
from ...mizuoto_runtime.context import RequestContext
from ...mizuoto_runtime.errors import EngineError
from ...mizuoto_runtime.nn.resample import has_soxr, resample
from ...mizuoto_runtime.runtime import Runtime
from ...mizuoto_runtime.text.bpe import ByteBpe
from ..artifacts import AudioChunk, Codes, Segment, VoicePrompt
from ..base import LoadSpec
from .checkpoint import CODEC, TALKER, VOICE, Components, read_components
from .codec import LEFT_CONTEXT_FRAMES, SAMPLES_PER_FRAME, CodecDecoder, Window, windows
from .config import CheckpointConfig
from .ending import BUDGET, EOS, FRAME_RATE_HZ, LOOP
from .fast import generate_fast
from .generation import Take, generate, usual_length
from .manifest import MANIFEST
from .options import choices_for, instruction_of, is_streamed, manifest_of
from .prompt import Prompt, PromptBuilder
from .talker import Talker
from .voice import CODES, DESCRIPTION, TRANSCRIPT, X_VECTOR, VoiceEncoder, voice_of
from .workload import codec_bytes, talker_bytes, voice_bytes

SHORT_FRAMES = 75  # of a window of the codec where memory ran out and the user allows other bits
FRAMES_PER_PROGRESS = 8
REFERENCE = "reference"  # the codes of a cloned voice, decoded before a segment's own so that it goes on from there


class Qwen3TtsEngine:
    """Loads the five official checkpoints and fine-tunes of them."""

    manifest = MANIFEST

    def load(self, spec: LoadSpec, runtime: Runtime) -> LoadedQwen3Tts:
        """Read the checkpoint in `spec.folder`; see `Engine.load`."""
        config = CheckpointConfig.read(spec.folder)
        bpe = ByteBpe.from_folder(spec.folder)
        components = read_components(spec.folder, config, spec.dtype)
        return LoadedQwen3Tts(config, bpe, components, spec, runtime)


class LoadedQwen3Tts:
    """One checkpoint in memory; implements `CanTalk`, and what its kind can do besides."""

    def __init__(
        self, config: CheckpointConfig, bpe: ByteBpe, components: Components, spec: LoadSpec, runtime: Runtime
    ) -> None:
        self.manifest = manifest_of(config)
        self._config = config
        self._prompt = PromptBuilder(config, bpe)
        self._dtype = spec.dtype
        self._element_bytes = spec.dtype.itemsize
        talker, codec, voice = components.talker, components.codec, components.voice
        self._talker = runtime.handle(
            f"{MANIFEST.id}:{TALKER}", talker, spec.device, kind="sequence", marks={talker.predictor: "hot"}
        )
        self._codec = runtime.handle(f"{MANIFEST.id}:{CODEC}", codec, spec.device)
        self._voice = runtime.handle(f"{MANIFEST.id}:{VOICE}", voice, spec.device) if voice else None
        self.handles = tuple(handle for handle in (self._voice, self._talker, self._codec) if handle)

    def voice_prompt(self, reference: Audio, transcript: str | None, ctx: RequestContext) -> VoicePrompt:
        """Timbre of the recording and, if its words are known, its codes to go on from; see `CanCloneVoice`."""
        handle = self._voice
        assert handle is not None  # "clone" is among the tasks of Base models only
        dtype, has_words = self._dtype, bool(transcript and transcript.strip())
        if reference.sample_rate != self.manifest.sample_rate and not has_soxr():
            ctx.report.warn("resampled", "The reference was resampled without soxr: as good, but not the same bits.")
        waveform = resample(reference.waveform, reference.sample_rate, self.manifest.sample_rate)

        encoder = cast(VoiceEncoder, handle.module)

        def encoded() -> dict[str, torch.Tensor]:
            x_vector, codes = encoder(waveform.to(handle.compute_device), has_words, dtype)
            return {X_VECTOR: x_vector.cpu()} | ({} if codes is None else {CODES: codes.cpu()})

        working_bytes = voice_bytes(
            encoder.codec.config, waveform.shape[-1] / self.manifest.sample_rate, self._element_bytes
        )
        tensors = ctx.run("voice prompt", [handle], encoded, working_bytes)
        return VoicePrompt(MANIFEST.id, "clone", tensors, {TRANSCRIPT: transcript} if transcript and has_words else {})

    def design_voice(self, description: str, ctx: RequestContext) -> VoicePrompt:
        """The description itself: the model reads it with every text; see `CanDesignVoice`."""
        return VoicePrompt(MANIFEST.id, description[:40], facts={DESCRIPTION: description})

    def talk(self, text: str, voice: VoicePrompt | None, options: Mapping[str, Any], ctx: RequestContext) -> Codes:
        """Codes of one segment; see `CanTalk.talk`.

        Raises:
            InvalidRequest: The voice or the language is not for this checkpoint.
            Unsupported: It follows no instructions.
            EngineError: The take did not end, and `at_limit` is "fail".
        """
        return self.talk_batch([text], voice, options, ctx)[0]

    def talk_batch(
        self, texts: Sequence[str], voice: VoicePrompt | None, options: Mapping[str, Any], ctx: RequestContext
    ) -> list[Codes]:
        """Codes of several segments at once; see `CanTalkInBatches`. Raises what `talk` raises."""
        with ctx.report.timed("text"):
            prompts = self._prompts(texts, voice, options, ctx)
        handle, choices = self._talker, choices_for(options, prompts, self._config)
        generator = ctx.generator_for(handle.load_device)
        device, is_fast = handle.compute_device, self._is_fast(options)
        ctx.report.params["decoding"] = "fast" if is_fast else "exact"
        talker, usual = cast(Talker, handle.module), usual_length(prompts, choices)

        def check(made: int) -> None:
            ctx.check_cancel()
            if made % FRAMES_PER_PROGRESS == 0:
                ctx.progress(min(1.0, made / usual), "talker")

        def takes() -> list[Take]:
            given = (talker, prompts, choices, generator, device, check)
            return generate_fast(*given, handle.is_whole, ctx.report.warn) if is_fast else generate(*given)

        working_bytes = talker_bytes(self._config.talker, prompts, choices.budgets, self._element_bytes)
        found = ctx.run("talker", [handle], takes, working_bytes)
        return [
            self._codes(text, prompt, take, options, ctx)
            for text, prompt, take in zip(texts, prompts, found, strict=True)
        ]

    def decode(self, codes: Codes, ctx: RequestContext) -> Iterator[AudioChunk]:
        """Chunks of 24 s; see `CanTalk.decode`."""
        for segment in codes.segments:
            yield from self._decoded(segment, ctx)

    def _is_fast(self, options: Mapping[str, Any]) -> bool:
        decoding = options["decoding"]
        return bool(self._talker.compute_device.type != "cpu" if decoding == "auto" else decoding == "fast")

    def _prompts(
        self, texts: Sequence[str], voice: VoicePrompt | None, options: Mapping[str, Any], ctx: RequestContext
    ) -> list[Prompt]:
        speaker = voice_of(voice, self._config, self.manifest)
        description = voice.facts.get(DESCRIPTION, "") if voice else ""
        instruction = instruction_of(options, description, self._config)
        if speaker.transcript and speaker.transcript.strip() in map(str.strip, texts):
            ctx.report.warn("same_text", "The text is the transcript of the reference; is it in the right place?")
        streamed = is_streamed(options, self._config)
        return [self._prompt(text, speaker, options["language"], instruction, streamed) for text in texts]

    def _codes(self, text: str, prompt: Prompt, take: Take, options: Mapping[str, Any], ctx: RequestContext) -> Codes:
        if take.ending != EOS:
            code, told, remedy = _CUT[take.ending]
            where = f'"{text[:40]}" ({len(take.codes) / FRAME_RATE_HZ:.1f} s)'
            if options["at_limit"] == "fail":
                raise EngineError(f"Speech was cut because it {told}: {where}. Try another seed{remedy}.")
            ctx.report.warn_of(code, f"Speech was cut because it {told}; try another seed{remedy}:", [where])
        tensors = {CODES: take.codes}
        if prompt.codes is not None:
            tensors[REFERENCE] = prompt.codes
        return Codes(MANIFEST.id, MANIFEST.sample_rate, (Segment(text, ctx.seed, tensors),))

    def _decoded(self, segment: Segment, ctx: RequestContext) -> Iterator[AudioChunk]:
        """The segment's sound; what belongs to the reference before it is cut off by its share of the frames."""
        reference, codes = segment.tensors.get(REFERENCE), segment.tensors[CODES]
        skipped = 0
        if reference is not None:
            total = len(reference) + len(codes)
            skipped = int(len(reference) / total * (total * SAMPLES_PER_FRAME))
            codes = torch.cat((reference, codes))
        codec = cast(CodecDecoder, self._codec.module)
        for window in windows(len(codes)):
            if window.stop * SAMPLES_PER_FRAME <= skipped:
                continue  # nothing but reference
            decoded = partial(self._window, codes, window)
            shorter = partial(self._in_short_windows, codes, window)
            working_bytes = codec_bytes(codec.config, window.stop - window.start, self._element_bytes)
            fallback = (f"codec windows of {SHORT_FRAMES} frames", shorter)
            waveform = ctx.run("codec decoder", [self._codec], decoded, working_bytes, fallback=fallback)
            first = (window.start + window.context) * SAMPLES_PER_FRAME
            yield AudioChunk(waveform[:, max(0, skipped - first) :], MANIFEST.sample_rate)

    def _window(self, codes: torch.Tensor, window: Window) -> torch.Tensor:
        """[1, T] of the frames behind a window's context."""
        frames = codes[window.start : window.stop].T[None].to(self._codec.compute_device)
        waveform: torch.Tensor = self._codec.module(frames)
        return waveform[0, :, window.context * SAMPLES_PER_FRAME :].float().cpu()

    def _in_short_windows(self, codes: torch.Tensor, window: Window) -> torch.Tensor:
        """About the same in a quarter of the memory: a frame hears less of what came before it (S159)."""
        first = window.start + window.context
        pieces = []
        for short in windows(window.stop - first, SHORT_FRAMES):
            # Later windows have their context inside this one, the first in front of it.
            context = short.context or min(LEFT_CONTEXT_FRAMES, first)
            start = first + short.start + short.context - context
            pieces.append(self._window(codes, Window(start, first + short.stop, context)))
        return torch.cat(pieces, dim=-1)


# Ending -> code of the warning, what happened, what may help besides another seed.
_CUT = {
    BUDGET: ("cut_off", "did not come to an end", ", or set max_seconds"),
    LOOP: ("looped", "repeated itself", " or a higher repetition_penalty"),
}
ENGINE = Qwen3TtsEngine()
