"""Kokoro behind the engine contract: loading, and the two phases on the memory runtime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from ...mizuoto_runtime.context import RequestContext
from ...mizuoto_runtime.device import CPU
from ...mizuoto_runtime.errors import InvalidRequest
from ...mizuoto_runtime.runtime import Runtime
from ..artifacts import AudioChunk, Codes, Segment, VoicePrompt
from ..base import LoadSpec
from ..presets import read_mixture
from .checkpoint import Components, read_components
from .config import CheckpointConfig
from .keys import DECODER, TALKER
from .languages.table import language_of
from .manifest import MANIFEST
from .prompt import PhonemeEncoder
from .talker import Prosody
from .voice import VoiceTables, voice_names
from .workload import decoder_bytes, talker_bytes

STYLE = "style"  # how the voice sounds; the other half of its row is spent when the talker is done


class KokoroEngine:
    """Loads Kokoro-82M and fine-tunes of it."""

    manifest = MANIFEST

    def load(self, spec: LoadSpec, runtime: Runtime) -> LoadedKokoro:
        """Read the checkpoint in `spec.folder`; see `Engine.load`."""
        config = CheckpointConfig.read(spec.folder)
        voices = VoiceTables(spec.folder, voice_names(spec.folder), config)
        return LoadedKokoro(config, voices, read_components(spec.folder, config), spec, runtime)


class LoadedKokoro:
    """One checkpoint in memory; implements `CanTalk`."""

    def __init__(
        self, config: CheckpointConfig, voices: VoiceTables, components: Components, spec: LoadSpec, runtime: Runtime
    ) -> None:
        self.manifest = replace(MANIFEST, voices=voices.names)
        self._config = config
        self._voices = voices
        self._encoder = PhonemeEncoder(config)
        # One layer of the talker is applied twelve times.
        marks: dict[nn.Module, str] = {components.talker.bert: "hot"}
        self._talker = runtime.handle(f"{MANIFEST.id}:{TALKER}", components.talker, spec.device, marks=marks)
        self._decoder = runtime.handle(f"{MANIFEST.id}:{DECODER}", components.decoder, spec.device)
        self.handles = (self._talker, self._decoder)

    def talk(self, text: str, voice: VoicePrompt | None, options: Mapping[str, Any], ctx: RequestContext) -> Codes:
        """Durations, pitch, energy and features of one segment, which becomes several if it is too long.

        See `CanTalk.talk`.

        Raises:
            NothingToSay: The text has no sound in the language of the voice.
            Unsupported: The language needs a package that is not installed.
            InvalidRequest: A voice is not there, or the mixture makes no sense.
        """
        shares = self._shares(voice, options)
        leading = max(shares, key=lambda name: shares[name])
        with ctx.report.timed("text"):
            pieces = self._encoder.read(text, language_of(leading, options["language"]), ctx)
        segments = (
            Segment(piece, ctx.seed, self._prosody(phonemes, shares, options["speed"], ctx))
            for piece, phonemes in pieces
        )
        return Codes(MANIFEST.id, MANIFEST.sample_rate, tuple(segments))

    def decode(self, codes: Codes, ctx: RequestContext) -> Iterator[AudioChunk]:
        """One chunk a segment; see `CanTalk.decode`."""
        for segment in codes.segments:
            yield AudioChunk(self._waveform(segment, ctx), codes.sample_rate)

    def _shares(self, voice: VoicePrompt | None, options: Mapping[str, Any]) -> dict[str, float]:
        """Voice -> weight."""
        if mixture := str(options["mix"]).strip():
            return read_mixture(mixture, self.manifest)
        return read_mixture(voice.name if voice else self._voices.names[0], self.manifest)

    def _prosody(
        self, phonemes: str, shares: Mapping[str, float], speed: float, ctx: RequestContext
    ) -> dict[str, torch.Tensor]:
        ids = self._encoder.ids(phonemes)
        # Phonemes that the model does not know count: upstream chooses the row so.
        sound, manner = self._voices.style(shares, len(phonemes)).chunk(2, dim=-1)

        def prosody() -> dict[str, torch.Tensor]:
            device = self._talker.compute_device
            found: Prosody = self._talker.module(ids.to(device), manner.to(device), speed)
            return {name: part.cpu() for name, part in found._asdict().items()}

        working_bytes = talker_bytes(self._config, ids.shape[-1])
        return {**ctx.run("talker", [self._talker], prosody, working_bytes), STYLE: sound.clone()}

    def _waveform(self, segment: Segment, ctx: RequestContext) -> torch.Tensor:
        # Drawn on the CPU whatever the device: one seed, one sound.
        generator = ctx.generator_for(CPU)
        text, f0, energy, style = (self._tensor(segment, name) for name in ("text", "f0", "energy", STYLE))

        def decoded() -> torch.Tensor:
            device = self._decoder.compute_device
            inputs = (part.to(device) for part in (text, f0, energy, style))
            waveform: torch.Tensor = self._decoder.module(*inputs, generator, ctx.check_cancel)
            return waveform.cpu()

        working_bytes = decoder_bytes(self._config, f0.shape[-1])
        return ctx.run("codec decoder", [self._decoder], decoded, working_bytes)

    def _tensor(self, segment: Segment, name: str) -> torch.Tensor:
        """A tensor of a segment, which may come from a file of anybody."""
        sizes = {"text": self._config.hidden_size, STYLE: self._config.style_size}
        found = segment.tensors.get(name)
        is_sound = found is not None and found.dtype == torch.float32 and found.shape[:1] == (1,)
        if found is None or not is_sound or found.dim() != 2 + (name == "text") or found.shape[-1] == 0:
            raise InvalidRequest(f'The codes have no usable "{name}"; make them anew with a Talker node.')
        if name in sizes and found.shape[1] != sizes[name]:
            raise InvalidRequest("The codes were made by a Kokoro model of another size; make them anew with this one.")
        return found


ENGINE = KokoroEngine()
