"""The chain that every listening node runs: a recording -> what is said in it, and nothing that nobody said."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import cast

import torch

from ..mizuoto_runtime.audio import Audio, mono
from ..mizuoto_runtime.context import RequestContext
from ..mizuoto_runtime.errors import InvalidRequest, did_you_mean
from ..mizuoto_runtime.nn.resample import resample
from ..mizuoto_runtime.vad import SECONDS_A_CHECK, Span, SpeechRules, speech_spans
from .base import CanTranscribe, LoadedEngine, Manifest, Options, require_task
from .script import Share
from .transcript import Transcript
from .voiced import place

MAX_SECONDS = 6 * 3600.0  # of samples alone that is 1.4 GB
VOICE_SHARE, ENGINE_SHARE = Share(0.0, 0.05), Share(0.05, 1.0)  # of the progress
_NO_VOICE = (
    "No voice was found in the recording, so the transcript is empty. If somebody does speak or sing in it, switch "
    "voice_required off; two channels with opposite signs cancel each other out."
)
WARY = SpeechRules(threshold=0.35, min_speech_s=0.1)  # a soft "no" counts, too


def transcribe(
    engine: LoadedEngine,
    audio: Audio,
    language: str | None,
    options: Options | None,
    ctx: RequestContext,
    is_voice_required: bool = True,
) -> Transcript:
    """What is said in `audio`.

    Recognition engines invent sentences where nobody speaks. So a voice detector listens, too: where it finds no voice
    at all the transcript is empty, and passages far from any voice are left out and reported.

    Args:
        engine: A loaded recognition engine.
        audio: Any number of channels, any rate, up to `MAX_SECONDS`.
        language: A BCP 47 tag; None to find out.
        options: Of the engine.
        ctx: The request.
        is_voice_required: Whether to ask the voice detector; singing may need it off.

    Raises:
        Unsupported: The engine does not listen.
        InvalidRequest: A language that the engine does not know, options of another one, or too long a recording.
    """
    require_task(engine.manifest, "asr")
    values = engine.manifest.resolve(options)
    language = check_language(engine.manifest, language)
    ctx.report.params = {**values, "language": language or "auto"}
    ctx.report.audio_seconds = round(audio.seconds, 4)
    heard = _for_engine(audio, engine.manifest)
    spans = _voices(heard, is_voice_required, ctx)
    if not spans:
        ctx.report.warn("no_speech", _NO_VOICE)
        return Transcript(engine.manifest.id, language or "", audio.seconds)
    listener = cast(CanTranscribe, engine)
    with torch.inference_mode():
        transcript = listener.transcribe(heard, language, values, ENGINE_SHARE.context(ctx, ctx.seed))
    kept, invented = place(transcript.passages, spans, audio.seconds)
    if invented:
        ctx.report.warn_of("invented", "Left out, since nobody speaks there:", (passage.text for passage in invented))
    ctx.report.segments = len(kept)
    ctx.progress(1.0, "transcribe")
    return transcript.with_passages(kept)


def check_language(manifest: Manifest, language: str | None) -> str | None:
    """`language` as the engine spells it; None stays None.

    Raises:
        InvalidRequest: The engine does not know it.
    """
    if language is None:
        return None
    found = next((tag for tag in manifest.languages if tag.casefold() == language.casefold()), None)
    if found is None:
        raise InvalidRequest(
            f'This {manifest.name} model does not know the language "{language}"; it knows '
            f"{', '.join(manifest.languages)}.{did_you_mean(language, manifest.languages)}"
        )
    return found


def _for_engine(audio: Audio, manifest: Manifest) -> Audio:
    """Mono at the engine's rate."""
    if audio.seconds > MAX_SECONDS:
        raise InvalidRequest(
            f"The recording is {audio.seconds / 3600:.1f} h long; the limit is {MAX_SECONDS / 3600:.0f} h: cut it."
        )
    waveform = resample(mono(audio).waveform, audio.sample_rate, manifest.sample_rate)
    return Audio(waveform, manifest.sample_rate)


def _voices(audio: Audio, is_voice_required: bool, ctx: RequestContext) -> Sequence[Span]:
    if not is_voice_required:
        return [Span(0.0, audio.seconds)]
    own, num_checks = VOICE_SHARE.context(ctx, ctx.seed), count(1)

    def check() -> None:
        ctx.check_cancel()
        own.progress(min(1.0, next(num_checks) * SECONDS_A_CHECK / audio.seconds), "voice detector")

    with ctx.report.timed("voice detector"):
        return speech_spans(audio, WARY, check, is_levelled=True)
