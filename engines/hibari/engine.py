"""hibari behind the engine contract: loading, and the two phases on the memory runtime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn

from ...mizuoto_runtime.context import RequestContext
from ...mizuoto_runtime.device import CPU
from ...mizuoto_runtime.errors import InvalidRequest
from ...mizuoto_runtime.loading.keys import load_into
from ...mizuoto_runtime.memory.handle import ModelHandle
from ...mizuoto_runtime.runtime import Runtime
from ..artifacts import AudioChunk, Codes, Segment, VoicePrompt
from ..base import LoadSpec
from .checkpoint import find_checkpoint, read_checkpoint
from .codec import CodecDecoder
from .config import PROSODY_FRAMES
from .manifest import ASSETS, MANIFEST
from .prompt import PhonemeEncoder
from .talker import Talker

# Live tensors of one step, traced on the CPU: feed-forward activations of a block, and for the decoder the spectra,
# the noise and the frames of the STFT.
TALKER_BYTES_PER_PHONEME = 28 << 10
DECODER_BYTES_PER_FRAME = 32 << 10


class HibariEngine:
    """Loads hibari checkpoints."""

    manifest = MANIFEST

    def load(self, spec: LoadSpec, runtime: Runtime) -> LoadedHibari:
        """Read the checkpoint in `spec.folder`; see `Engine.load`."""
        path = find_checkpoint(spec.folder)
        tensors = read_checkpoint(path, spec.dtype)
        modules: dict[str, nn.Module] = {}
        with torch.device("meta"):
            modules["talker"], modules["decoder"] = Talker(), CodecDecoder()
        for component, module in modules.items():
            load_into(module, tensors[component], path.name)
        handles = {name: runtime.handle(f"hibari:{name}", module, spec.device) for name, module in modules.items()}
        return LoadedHibari(handles["talker"], handles["decoder"])


class LoadedHibari:
    """One hibari voice in memory; implements `CanTalk`."""

    manifest = MANIFEST

    def __init__(self, talker: ModelHandle, decoder: ModelHandle) -> None:
        self.handles = (talker, decoder)
        self._talker = talker
        self._decoder = decoder
        self._encoder = PhonemeEncoder(ASSETS / "vocab.json")

    def talk(self, text: str, voice: VoicePrompt | None, options: Mapping[str, Any], ctx: RequestContext) -> Codes:
        """Durations, pitch and energy of one segment; see `CanTalk.talk`.

        Raises:
            NothingToSay: The text has no English sound.
            InvalidRequest: `voice` is no voice of this engine.
        """
        if voice is not None and voice.name not in MANIFEST.voices:
            raise InvalidRequest(f'hibari has no voice "{voice.name}"; it has {", ".join(MANIFEST.voices)}.')
        with ctx.report.timed("text"):
            ids = self._encoder(text, ctx)

        def prosody() -> dict[str, torch.Tensor]:
            module, device = self._talker.module, self._talker.compute_device
            return {name: part.cpu() for name, part in module(ids.to(device), options["speed"])._asdict().items()}

        working_bytes = ids.shape[-1] * TALKER_BYTES_PER_PHONEME
        tensors = {"text_ids": ids, **ctx.run("talker", [self._talker], prosody, working_bytes)}
        return Codes(MANIFEST.id, MANIFEST.sample_rate, (Segment(text, ctx.seed, tensors),))

    def decode(self, codes: Codes, ctx: RequestContext) -> Iterator[AudioChunk]:
        """One chunk a segment; see `CanTalk.decode`."""
        for segment in codes.segments:
            yield AudioChunk(self._waveform(segment, ctx), codes.sample_rate)

    def _waveform(self, segment: Segment, ctx: RequestContext) -> torch.Tensor:
        # Drawn on the CPU whatever the device: one seed, one sound.
        generator = ctx.generator_for(CPU)

        def decoded() -> torch.Tensor:
            device = self._decoder.compute_device
            inputs = (segment.tensors[name].to(device) for name in ("text_ids", "durations", "f0", "energy"))
            waveform: torch.Tensor = self._decoder.module(*inputs, generator)
            return waveform[0].cpu()

        frames = int(segment.tensors["durations"].sum()) * PROSODY_FRAMES
        return ctx.run("codec decoder", [self._decoder], decoded, frames * DECODER_BYTES_PER_FRAME)


ENGINE = HibariEngine()
