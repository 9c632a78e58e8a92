"""Whisper behind the engine contract: loading, and its two phases on the memory runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar, cast

import torch

from ...mizuoto_runtime.audio import Audio
from ...mizuoto_runtime.context import RequestContext
from ...mizuoto_runtime.errors import InvalidRequest, Unsupported
from ...mizuoto_runtime.memory.handle import ModelHandle
from ...mizuoto_runtime.runtime import Runtime
from ..base import LoadSpec, Manifest
from ..transcript import Transcript
from .checkpoint import Components, read_components
from .config import NUM_FRAMES
from .decoder import Decoder, Hearing, WindowState, alignment_scores
from .encoder import AudioEncoder
from .features import log_mel
from .keys import DECODER, ENCODER
from .languages import code_of, tag_of
from .manifest import MANIFEST
from .model import Tokens
from .settings import TRANSLATE, settings_of
from .tokens import WhisperTokens
from .transcription import Transcription, transcribe
from .workload import decoder_bytes, encoder_bytes

T = TypeVar("T")
ENGLISH = "en"


class WhisperEngine:
    """Loads the official checkpoints and fine-tunes of them, in the layouts of Hugging Face and CTranslate2."""

    manifest = MANIFEST

    def load(self, spec: LoadSpec, runtime: Runtime) -> LoadedWhisper:
        """Read the checkpoint in `spec.folder`; see `Engine.load`."""
        components = read_components(spec.folder, spec.dtype)
        tokens = WhisperTokens.from_folder(spec.folder, components.config.is_multilingual)
        return LoadedWhisper(components, tokens, spec, runtime)


class LoadedWhisper:
    """One checkpoint in memory; implements `CanTranscribe`."""

    def __init__(self, components: Components, tokens: WhisperTokens, spec: LoadSpec, runtime: Runtime) -> None:
        self.config = components.config
        self.tokens = tokens
        self.manifest: Manifest = replace(MANIFEST, languages=tuple(map(tag_of, tokens.languages)) or (ENGLISH,))
        self.encoder = runtime.handle(f"{MANIFEST.id}:{ENCODER}", components.encoder, spec.device)
        self.decoder = runtime.handle(f"{MANIFEST.id}:{DECODER}", components.decoder, spec.device, kind="sequence")
        self.handles: tuple[ModelHandle, ...] = (self.encoder, self.decoder)
        self.dtype = spec.dtype

    def transcribe(
        self, audio: Audio, language: str | None, options: Mapping[str, Any], ctx: RequestContext
    ) -> Transcript:
        """What is said in `audio`, or that in English; see `CanTranscribe`.

        Raises:
            InvalidRequest: The checkpoint does not know the language.
            Unsupported: It is to translate and knows English only.
        """
        code = self._code(language, options["task"])
        with ctx.report.timed("features"):
            mel = log_mel(audio.waveform[0], self.config.num_mels)
        request = Request(self, ctx, audio.seconds)
        if code is None:
            code = request.detect_language(mel)
        settings = settings_of(options, code)
        found = transcribe(request, mel, audio.seconds, settings)
        _warn(found, ctx)
        written = ENGLISH if settings.task == TRANSLATE else tag_of(code)
        return Transcript(MANIFEST.id, written, audio.seconds, found.passages)

    def _code(self, language: str | None, task: str) -> str | None:
        """Whisper's code of the language that is spoken; None to find out."""
        if task == TRANSLATE and not self.tokens.languages:
            raise Unsupported("This Whisper model knows English only and translates nothing; load one without .en.")
        if language is not None and language not in self.manifest.languages:
            known = ", ".join(self.manifest.languages)
            raise InvalidRequest(f'This Whisper model does not know the language "{language}"; it knows {known}.')
        if not self.tokens.languages:
            return ENGLISH
        return None if language is None else code_of(language)


class Request:
    """A loaded model within one request; implements `model.WhisperModel`."""

    def __init__(self, loaded: LoadedWhisper, ctx: RequestContext, seconds: float) -> None:
        self.config = loaded.config
        self.tokens: Tokens = loaded.tokens
        self.device = loaded.decoder.compute_device
        self.generator = ctx.generator_for(loaded.decoder.load_device)
        self._loaded = loaded
        self._ctx = ctx
        self._seconds = seconds
        self._hearing: Hearing | None = None  # of the window at work: all attempts share its keys and values

    def encode(self, mel: torch.Tensor) -> torch.Tensor:
        """See `WhisperModel`."""
        handle, dtype = self._loaded.encoder, self._loaded.dtype
        encoder = cast(AudioEncoder, handle.module)

        def features() -> torch.Tensor:
            hidden: torch.Tensor = encoder(mel.to(handle.compute_device, dtype))
            return hidden

        working_bytes = encoder_bytes(self.config, dtype.itemsize)
        return self._ctx.run("audio encoder", [handle], features, working_bytes)

    def decoding(self, work: Callable[[], T], rows: int = 1) -> T:
        """See `WhisperModel`."""
        working_bytes = decoder_bytes(self.config, rows, self._loaded.dtype.itemsize)

        def afresh() -> T:
            self._hearing = None
            return work()

        try:
            return self._ctx.run("decoder", [self._loaded.decoder], afresh, working_bytes)
        finally:
            self._hearing = None

    def start(self, features: torch.Tensor, rows: int = 1) -> WindowState:
        """See `WhisperModel`."""
        if self._hearing is None or self._hearing.features is not features:
            self._hearing = Hearing(features)
        return WindowState(self._module, self._hearing, rows)

    def cross_attention(self, features: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """See `WhisperModel`."""
        return alignment_scores(self._module, features, tokens)

    def detect_language(self, mel: torch.Tensor) -> str:
        """Whisper's code of the language that the first 30 s are most probably in; noted in the report.

        Source: detect_language, openai-whisper 20250625 decoding.py.
        """
        features = self.encode(mel[None, :, :NUM_FRAMES])
        codes, ids = list(self.tokens.languages), list(self.tokens.languages.values())

        def probabilities() -> torch.Tensor:
            logits = self.start(features).logits(torch.tensor([[self.tokens.sot]]))
            return logits[0, 0, ids].softmax(-1).cpu()

        probability, index = self.decoding(probabilities).max(-1)
        code = codes[int(index)]
        self._ctx.report.params |= {"language": tag_of(code), "language_probability": round(float(probability), 4)}
        return code

    def check_cancel(self) -> None:
        """See `WhisperModel`."""
        self._ctx.check_cancel()

    def progress(self, seconds_heard: float) -> None:
        """See `WhisperModel`."""
        self._ctx.progress(min(1.0, seconds_heard / self._seconds), "transcribe")

    @property
    def _module(self) -> Decoder:
        return cast(Decoder, self._loaded.decoder.module)


def _warn(found: Transcription, ctx: RequestContext) -> None:
    if found.looped:
        places = [f"{start:.0f} to {end:.0f} s" for start, end in found.looped]
        ctx.report.warn_of("looped", "The text may repeat itself where nobody does; check it:", places)


ENGINE = WhisperEngine()
