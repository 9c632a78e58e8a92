"""The engine: loads checkpoints, makes voices of recordings, and runs the talker and the codec decoder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, cast

import torch

from ...mizuoto_runtime.audio import Audio
from ...mizuoto_runtime.context import RequestContext
from ...mizuoto_runtime.nn.vocos import Vocos
from ...mizuoto_runtime.runtime import Runtime
from ..artifacts import AudioChunk, Codes, Segment, VoicePrompt
from ..base import LoadSpec
from .checkpoint import Components, read_components
from .codec import SHORT_FRAMES, checked, decoded, decoded_in_windows
from .generation import Choices, generate
from .manifest import MANIFEST
from .options import choices_for, edit_of
from .prompt import Prompt, chunks, continuation, correction, durations, is_whole
from .talker import Talker
from .voice import LEVEL, MEL, TRANSCRIPT, Voice, encoded, required_words, restored, voice_of
from .workload import codec_bytes, talker_bytes

TALKER, CODEC = "talker", "codec"
_NOT_WHOLE = (
    "The text has little of what the recording says. For an edit, write all of its words with the new ones in their "
    "place, without pause marks and as one text of at most 500 bytes."
)


class F5TtsEngine:
    """Loads the official checkpoints of v0 and v1, and fine-tunes in their layout."""

    manifest = MANIFEST

    def load(self, spec: LoadSpec, runtime: Runtime) -> LoadedF5Tts:
        """Read the checkpoint in `spec.folder`; see `Engine.load`."""
        return LoadedF5Tts(read_components(spec.folder, spec.dtype), spec, runtime)


class LoadedF5Tts:
    """One checkpoint in memory; implements `CanTalk` and `CanCloneVoice`."""

    def __init__(self, components: Components, spec: LoadSpec, runtime: Runtime) -> None:
        self.manifest = MANIFEST
        self._name = spec.name
        self._vocabulary, self._version = components.vocabulary, components.version
        self._talker = runtime.handle(f"{MANIFEST.id}:{TALKER}", components.talker, spec.device)
        self._codec = runtime.handle(f"{MANIFEST.id}:{CODEC}", components.codec, spec.device)
        self.handles = (self._talker, self._codec)

    def voice_prompt(self, reference: Audio, transcript: str | None, ctx: RequestContext) -> VoicePrompt:
        """The recording's mel spectrogram and its words; see `CanCloneVoice`.

        Raises:
            InvalidRequest: The words are missing.
        """
        words = required_words(transcript)
        tensors = ctx.run("voice prompt", [], partial(encoded, reference.waveform, reference.sample_rate))
        return VoicePrompt(MANIFEST.id, "clone", tensors, {TRANSCRIPT: words})

    def talk(self, text: str, voice: VoicePrompt | None, options: Mapping[str, Any], ctx: RequestContext) -> Codes:
        """Mel spectrograms of one segment, or of its pieces if it is long for the reference; see `CanTalk.talk`.

        Raises:
            InvalidRequest: There is no voice, the part to edit is not in it, or the speech becomes too long.
            Unsupported: The text is Chinese, and a package for that is missing.
        """
        speaker = voice_of(voice)
        choices = choices_for(options, self._version, self._name, ctx)
        with ctx.report.timed("text"):
            prompts = self._prompts(text, speaker, options, ctx)
        segments = []
        for number, (piece, prompt) in enumerate(prompts):
            mel = self._mel(prompt, choices, ctx, number / len(prompts), 1 / len(prompts))
            tensors = {MEL: mel[prompt.num_skipped :].clone(), LEVEL: speaker.level}
            segments.append(Segment(piece, ctx.seed, tensors))
        return Codes(MANIFEST.id, MANIFEST.sample_rate, tuple(segments))

    def decode(self, codes: Codes, ctx: RequestContext) -> Iterator[AudioChunk]:
        """One chunk a segment; see `CanTalk.decode`.

        Raises:
            InvalidRequest: The codes are damaged.
        """
        codec = cast(Vocos, self._codec.module)
        for segment in codes.segments:
            mel, level = checked(segment)
            waveform = ctx.run(
                "codec decoder",
                [self._codec],
                partial(decoded, codec, mel),
                codec_bytes(codec.config, len(mel)),
                fallback=(f"codec windows of {SHORT_FRAMES} frames", partial(decoded_in_windows, codec, mel)),
            )
            yield AudioChunk(restored(waveform, level), MANIFEST.sample_rate)

    def _prompts(
        self, text: str, voice: Voice, options: Mapping[str, Any], ctx: RequestContext
    ) -> list[tuple[str, Prompt]]:
        edit, speed = edit_of(options), options["speed"]
        if edit is not None:
            prompt = correction(text, voice, self._vocabulary, edit)
            if not is_whole(text, voice, edit):
                ctx.report.warn("edit", _NOT_WHOLE)
            return [(text, prompt)]
        pieces = chunks(text, voice, speed)
        return [
            (piece, continuation(piece, voice, self._vocabulary, speed, seconds))
            for piece, seconds in zip(pieces, durations(pieces, options["duration"]), strict=True)
        ]

    def _mel(self, prompt: Prompt, choices: Choices, ctx: RequestContext, start: float, share: float) -> torch.Tensor:
        """[T, num_mels] of one prompt; its progress is that `share` of the whole that begins at `start`."""
        handle = self._talker
        talker = cast(Talker, handle.module)
        generator = ctx.generator_for(handle.load_device)

        def check(step: int) -> None:
            ctx.check_cancel()
            ctx.progress(start + share * step / choices.steps, TALKER)

        made = partial(generate, talker, prompt, choices, generator, check)
        working_bytes = talker_bytes(
            talker.config, prompt.num_frames, choices.steps, 2 if choices.guidance else 1, talker.dtype.itemsize
        )
        fallback = ("guidance in two halves", partial(made, is_split=True))
        return ctx.run("talker", [handle], made, working_bytes, fallback=fallback)


ENGINE = F5TtsEngine()
