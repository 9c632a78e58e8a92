"""Voices of the three kinds of checkpoint: a recording, a preset, a description."""

from __future__ import annotations

import torch
from torch import nn

from ...mizuoto_runtime.errors import InvalidRequest
from ...mizuoto_runtime.nn.ecapa import EcapaConfig, SpeakerEncoder
from ...mizuoto_runtime.nn.mel import MelConfig, log_mel
from ...mizuoto_runtime.nn.mimi import MimiConfig, MimiEncoder
from ..artifacts import VoicePrompt
from ..base import Manifest
from ..voices import preset_voice
from .config import BASE, CUSTOM_VOICE, VOICE_DESIGN, CheckpointConfig, TalkerConfig
from .prompt import Voice

SAMPLE_RATE = 24000
X_VECTOR, CODES = "x_vector", "codes"
TRANSCRIPT, DESCRIPTION = "transcript", "description"


class VoiceEncoder(nn.Module):
    """A recording to a vector of its speaker and, if asked, to codes."""

    def __init__(self, speaker: EcapaConfig, codec: MimiConfig) -> None:
        super().__init__()
        self.speaker = SpeakerEncoder(speaker)
        self.codec = MimiEncoder(codec, "qwen3_tts:voice")
        self._mel = MelConfig(SAMPLE_RATE, n_fft=1024, hop_length=256, num_mels=speaker.num_mels, max_hz=12000.0)

    def memory_units(self) -> list[str]:
        """Names of the submodules whose weights may move one by one."""
        speaker = [f"speaker.{unit}" for unit in self.speaker.memory_units()]
        return [*speaker, *(f"codec.{unit}" for unit in self.codec.memory_units())]

    def forward(
        self, waveform: torch.Tensor, has_codes: bool, dtype: torch.dtype
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """[1, T] float32 at 24 kHz -> [hidden_size], and [frames, codebooks] or None; computed in `dtype`."""
        codes = self.codec(waveform[None].to(dtype))[0].T if has_codes else None
        return self.speaker(log_mel(waveform, self._mel).to(dtype))[0], codes


def voice_of(prompt: VoicePrompt | None, config: CheckpointConfig, manifest: Manifest) -> Voice:
    """What a voice means to this checkpoint.

    Raises:
        InvalidRequest: It was made by, or for, another kind of checkpoint.
    """
    if config.kind == BASE:
        return _cloned(prompt, config)
    if prompt is not None:
        _refuse_foreign(prompt, config)
    if config.kind == CUSTOM_VOICE and (prompt or manifest.voices):
        name = prompt.name if prompt else manifest.voices[0]
        return Voice(speaker=preset_voice(manifest, name).name.casefold())
    return Voice()


def _cloned(prompt: VoicePrompt | None, config: CheckpointConfig) -> Voice:
    if prompt is None or X_VECTOR not in prompt.tensors:
        raise InvalidRequest(
            "A Qwen3-TTS Base model speaks with a cloned voice only: connect a Voice Prompt node, "
            "or load a CustomVoice model for presets."
        )
    x_vector, codes = prompt.tensors[X_VECTOR], prompt.tensors.get(CODES)
    if not _is_sound(x_vector, codes, config.talker):
        raise InvalidRequest(f'The voice "{prompt.name}" is damaged; make it again with a Voice Prompt node.')
    if len(x_vector) != config.talker.decoder.hidden_size:
        raise InvalidRequest(
            f'The voice "{prompt.name}" was made by a Qwen3-TTS model of another size; make it again with this one.'
        )
    transcript = prompt.facts.get(TRANSCRIPT, "")
    if codes is not None and not transcript:
        raise InvalidRequest(
            f'The voice "{prompt.name}" has its recording\'s codes without its words; make it again with a transcript.'
        )
    return Voice(x_vector=x_vector, codes=codes, transcript=transcript)


def _is_sound(x_vector: torch.Tensor, codes: torch.Tensor | None, config: TalkerConfig) -> bool:
    """Whether tensors of a voice, which may come from anywhere, are safe to compute with: a card would not forgive."""
    if x_vector.dim() != 1 or not x_vector.is_floating_point() or not x_vector.isfinite().all():
        return False
    if codes is None:
        return True
    is_table = codes.dtype == torch.int64 and codes.dim() == 2 and codes.shape[1] == config.num_codebooks
    return is_table and len(codes) > 0 and bool(((codes >= 0) & (codes < config.codebook_size)).all())


def _refuse_foreign(prompt: VoicePrompt, config: CheckpointConfig) -> None:
    if X_VECTOR in prompt.tensors:
        kind, remedy = "cloned from a recording", "load a Qwen3-TTS Base model"
    elif DESCRIPTION in prompt.facts and config.kind == CUSTOM_VOICE:
        kind, remedy = "a description", "load a Qwen3-TTS VoiceDesign model, or connect a Preset Voice node"
    elif DESCRIPTION not in prompt.facts and config.kind == VOICE_DESIGN:
        kind, remedy = "a preset", "load a Qwen3-TTS CustomVoice model, or connect a Design Voice node"
    else:
        return
    raise InvalidRequest(f'The voice "{prompt.name}" is {kind}, which a {config.kind} model cannot use; {remedy}.')
