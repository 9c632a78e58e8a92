"""Qwen3-ASR behind the engine contract: loading, and the two phases on the memory runtime."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
import torch

from ...mizuoto_runtime.audio import Audio
from ...mizuoto_runtime.context import RequestContext
from ...mizuoto_runtime.errors import InvalidRequest
from ...mizuoto_runtime.lm.sampling import Sampling
from ...mizuoto_runtime.nn.mel import MelConfig, slaney_filters
from ...mizuoto_runtime.nn.whisper_mel import HOP_LENGTH, N_FFT, SAMPLE_RATE, whisper_log_mel
from ...mizuoto_runtime.runtime import Runtime
from ...mizuoto_runtime.text.bpe import ByteBpe
from ..base import LoadSpec
from ..transcript import Passage, Transcript
from .audio_encoder import AudioEncoder
from .checkpoint import Components, read_components
from .config import CheckpointConfig
from .decoder import TextDecoder
from .ending import BUDGET, EOS, LOOP, token_budget, usual_tokens
from .generation import Choices, Written, generate
from .manifest import LANGUAGE_NAMES, MANIFEST
from .output import parsed
from .pieces import Piece, pieces, spoken_pieces
from .prompt import Prompt, PromptBuilder
from .workload import decoder_bytes, encoder_bytes

TOKENS_PER_PROGRESS = 8


class Qwen3AsrEngine:
    """Loads the two official checkpoints and fine-tunes of them."""

    manifest = MANIFEST

    def load(self, spec: LoadSpec, runtime: Runtime) -> LoadedQwen3Asr:
        """Read the checkpoint in `spec.folder`; see `Engine.load`."""
        config = CheckpointConfig.read(spec.folder)
        prompt = PromptBuilder(ByteBpe.from_folder(spec.folder))
        return LoadedQwen3Asr(config, prompt, read_components(spec.folder, config, spec.dtype), spec, runtime)


@dataclass(frozen=True, slots=True)
class Heard:
    """One piece of a recording, its language as a tag ("" if unknown), and its words."""

    piece: Piece
    language: str
    text: str


class LoadedQwen3Asr:
    """One checkpoint in memory; implements `CanTranscribe`."""

    def __init__(
        self,
        config: CheckpointConfig,
        prompt: PromptBuilder,
        components: Components,
        spec: LoadSpec,
        runtime: Runtime,
    ) -> None:
        self.manifest = replace(MANIFEST, languages=config.languages)
        self._config = config
        self._prompt = prompt
        self._dtype = spec.dtype
        self._filters = mel_filters(config.audio.num_mels)
        self._encoder = runtime.handle(f"{MANIFEST.id}:audio_encoder", components.audio_encoder, spec.device)
        self._decoder = runtime.handle(f"{MANIFEST.id}:decoder", components.decoder, spec.device, kind="sequence")
        self.handles = (self._encoder, self._decoder)

    def transcribe(
        self, audio: Audio, language: str | None, options: Mapping[str, Any], ctx: RequestContext
    ) -> Transcript:
        """One passage for each piece of the recording; see `CanTranscribe`.

        Raises:
            InvalidRequest: The prompt and the sound are more than the model has positions for.
        """
        prompt = self._prompt(options["prompt"], LANGUAGE_NAMES[language] if language else None)
        waveform, longest = limited(audio.waveform[0]), options["max_chunk_seconds"]
        found = spoken_pieces(waveform, longest, ctx) if options["split_at_pauses"] else pieces(waveform, longest)
        heard = []
        for index, piece in enumerate(found):
            embedded = self._embedded(piece, ctx)
            written = self._written(prompt, embedded, piece, options, ctx, (index, len(found)))
            _report(written, piece, ctx)
            heard.append(Heard(piece, *parsed(self._prompt.text_of(written.ids), language)))
        passages = tuple(Passage(each.text, each.piece.start, each.piece.end) for each in heard if each.text)
        return Transcript(MANIFEST.id, language or _main_language(heard), audio.seconds, passages)

    def _embedded(self, piece: Piece, ctx: RequestContext) -> torch.Tensor:
        """Phase audio encoder: [T, hidden_size] on the CPU."""
        handle, dtype = self._encoder, self._dtype
        with ctx.report.timed("features"):
            mel = whisper_log_mel(piece.waveform, self._filters)
        ctx.check_cancel()

        def embedded() -> torch.Tensor:
            return cast(AudioEncoder, handle.module)(mel.to(handle.compute_device, dtype)).cpu()

        working_bytes = encoder_bytes(self._config.audio, mel.shape[1], dtype.itemsize)
        return ctx.run("audio encoder", [handle], embedded, working_bytes)

    def _written(
        self,
        prompt: Prompt,
        audio: torch.Tensor,
        piece: Piece,
        options: Mapping[str, Any],
        ctx: RequestContext,
        place: tuple[int, int],
    ) -> Written:
        """Phase decoder: what the model writes; `place` is the piece's among so many."""
        handle, read = self._decoder, prompt.num_positions + len(audio)
        budget = min(token_budget(piece.seconds, options["max_new_tokens"]), self._config.max_positions - read)
        if budget < 1:
            raise InvalidRequest(
                f"The sound takes {len(audio)} positions and the prompt {prompt.num_positions}, and the model has "
                f"{self._config.max_positions}; shorten the prompt or set a lower max_chunk_seconds."
            )
        usual = usual_tokens(piece.seconds, budget)

        def check(written: int) -> None:
            ctx.check_cancel()
            if written % TOKENS_PER_PROGRESS == 0:
                ctx.progress((place[0] + min(1.0, written / usual)) / place[1], "decoder")

        choices = Choices(_sampling(options["temperature"]), budget, self._prompt.eos_ids)
        generator = ctx.generator_for(handle.load_device) if choices.sampling.do_sample else None
        write = partial(generate, cast(TextDecoder, handle.module), prompt, audio, choices, generator, check)
        working_bytes = decoder_bytes(self._config, read, usual, self._dtype.itemsize)
        return ctx.run("decoder", [handle], write, working_bytes)


def mel_filters(num_mels: int) -> torch.Tensor:
    """Of the spectrogram, [num_mels, 201], to the bit and in the layout of WhisperFeatureExtractor."""
    config = MelConfig(SAMPLE_RATE, N_FFT, HOP_LENGTH, num_mels)
    return torch.from_numpy(slaney_filters(config, np.float64)).T.contiguous().T


def limited(waveform: torch.Tensor) -> torch.Tensor:
    """`waveform` [T] within -1..1, made quieter as a whole where it is louder.

    Source: float_range_normalize, qwen-asr 0.0.6 inference/utils.py.
    """
    peak = float(waveform.abs().max())
    return (waveform / peak).clamp(-1.0, 1.0) if peak > 1.0 else waveform


def _sampling(temperature: float) -> Sampling:
    return Sampling(do_sample=temperature > 0.0, temperature=temperature or 1.0)


def _report(written: Written, piece: Piece, ctx: RequestContext) -> None:
    if written.ending != EOS:
        code, text = _CUT[written.ending]
        ctx.report.warn_of(code, text, [f"{piece.start:.1f} to {piece.end:.1f} s"])


def _main_language(heard: Sequence[Heard]) -> str:
    """The one in which most is said, by characters; the first of several."""
    lengths: Counter[str] = Counter()
    for each in heard:
        if each.language:
            lengths[each.language] += len(each.text)
    return max(lengths, key=lengths.__getitem__, default="")


# Ending -> code of the warning, what happened.
_CUT = {
    BUDGET: ("cut_off", "The text did not come to an end; set a higher max_new_tokens, or a lower max_chunk_seconds:"),
    LOOP: ("looped", "The text repeated itself and was ended there; set a lower max_chunk_seconds:"),
}
ENGINE = Qwen3AsrEngine()
