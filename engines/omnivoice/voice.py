"""Cloned voices: a recording prepared as the publisher does, and encoded into codes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from ...mizuoto_runtime import ops
from ...mizuoto_runtime.audio import Audio
from ...mizuoto_runtime.errors import InvalidRequest
from ...mizuoto_runtime.nn.dac import DacEncoder
from ...mizuoto_runtime.nn.hubert import Hubert
from ...mizuoto_runtime.nn.sinc import sinc_resample
from ...mizuoto_runtime.reference.silence import Clip, sounding_ranges, without_silence
from ..artifacts import VoicePrompt
from .config import SEMANTIC_RATE, CodecConfig, TalkerConfig
from .duration import FRAME_RATE_HZ
from .manifest import SAMPLE_RATE
from .quantizer import Quantizer

CODES, LEVEL = "codes", "level"
TRANSCRIPT, ATTRIBUTES = "transcript", "attributes"
INVENTED = "invented"  # there if the model made it up for the beginning of a text
LOUD = 0.1  # root mean square that a quiet reference is raised to
_LONG_S, _KEPT_MS, _LEAST_MS = 20.0, 15_000, 3_000  # what is done to a long reference without words
_EDGE = 160  # samples of silence that the semantic model hears on both sides
_SENTENCE_ENDS = frozenset(";:,.!?…)]}\"'“”‘’；：，。！？、）】")


@dataclass(frozen=True, slots=True)
class Reference:
    """A voice as the talker takes it.

    Attributes:
        codes: [K, T] int64.
        words: What is said in it; "" if unknown.
        level: Root mean square of the recording before it was raised.
    """

    codes: torch.Tensor
    words: str
    level: float


class ResidualUnit(nn.Module):
    """Two convolutions without bias, each behind an ELU, added to what came in."""

    def __init__(self, channels: int, kernel_size: int, dilation: int) -> None:
        super().__init__()
        padding = (kernel_size - 1) // 2 * dilation
        self.conv1 = ops.Conv1d(channels, channels, kernel_size, dilation=dilation, padding=padding, bias=False)
        self.conv2 = ops.Conv1d(channels, channels, 1, bias=False)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, channels, T] -> the same shape."""
        return hidden + self.conv2(F.elu(self.conv1(F.elu(hidden))))


class SemanticBlock(nn.Module):
    """Residual units and a convolution."""

    def __init__(self, config: CodecConfig) -> None:
        super().__init__()
        size = config.semantic.hidden_size
        self.res_units = nn.ModuleList(ResidualUnit(size, config.unit_kernel_size, d) for d in config.unit_dilations)
        self.conv = ops.Conv1d(size, size, 3, padding=1)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, channels, T] -> the same shape."""
        for unit in self.res_units:
            hidden = unit(hidden)
        return self.conv(hidden)


class SemanticEncoder(nn.Module):
    """What the codec makes of the states of speech."""

    def __init__(self, config: CodecConfig) -> None:
        super().__init__()
        size, taps = config.semantic.hidden_size, config.kernel_size
        self.conv = ops.Conv1d(size, size, taps, padding=taps // 2, bias=False)
        self.conv_blocks = nn.ModuleList(SemanticBlock(config) for _ in range(config.num_blocks))
        self._num_units = len(config.unit_dilations)

    def memory_units(self) -> list[str]:
        """Names of the submodules whose weights may move one by one."""
        units = [*(f"res_units.{unit}" for unit in range(self._num_units)), "conv"]
        return ["conv", *(f"conv_blocks.{index}.{unit}" for index in range(len(self.conv_blocks)) for unit in units)]

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, channels, T] -> the same shape."""
        hidden = self.conv(hidden)
        for block in self.conv_blocks:
            hidden = block(hidden)
        return hidden


class VoiceEncoder(nn.Module):
    """Waveform -> codes: its sound by one network, its speech by another, quantised side by side.

    Source: HiggsAudioV2TokenizerModel.encode, transformers 5.24.0.
    """

    def __init__(self, config: CodecConfig, site_name: str) -> None:
        super().__init__()
        self.config = config
        self.hubert = Hubert(config.semantic, site_name)
        self.semantic = SemanticEncoder(config)
        self.acoustic = DacEncoder(config.acoustic)
        self.projection = ops.Linear(config.hidden_size, config.hidden_size)
        shape = (config.num_codebooks, config.codebook_size, config.codebook_dim, config.hidden_size)
        self.quantizer = Quantizer(*shape, is_encoder=True)

    def memory_units(self) -> list[str]:
        """Names of the submodules whose weights may move one by one."""
        return [
            *(f"hubert.{unit}" for unit in self.hubert.memory_units()),
            *(f"semantic.{unit}" for unit in self.semantic.memory_units()),
            *(f"acoustic.{unit}" for unit in self.acoustic.memory_units()),
        ]

    def forward(self, waveform: torch.Tensor) -> torch.Tensor:
        """[B, 1, T] float32 at 24 kHz -> [B, K, T / 960] int64."""
        semantic = self.semantic(self._speech(waveform).transpose(1, 2))
        hop = self.config.acoustic.hop_length
        if self.acoustic.num_frames(waveform.shape[-1]) != semantic.shape[-1]:
            waveform = F.pad(waveform, (hop // 2, hop // 2))
        both = torch.cat((self.acoustic(waveform), semantic), dim=1)
        return self.quantizer.encode(self.projection(both.transpose(1, 2)).transpose(1, 2))

    def _speech(self, waveform: torch.Tensor) -> torch.Tensor:
        """Mean of all states of the semantic model, [B, frames, hidden_size]."""
        low = sinc_resample(waveform[:, 0], SAMPLE_RATE, SEMANTIC_RATE)
        # Summed up as they come, and only frames that are kept: the bits of the mean over all of them.
        total, count = torch.zeros((), device=low.device), 0
        for state in self.hubert(F.pad(low, (_EDGE, _EDGE))):
            total, count = total + state[:, :: self.config.semantic_step], count + 1
        return total / count


def prepared(recording: Audio, has_words: bool) -> tuple[torch.Tensor, float]:
    """[T] of a mono recording at 24 kHz, a whole number of frames, and its level before it was raised.

    Pauses are shortened; without words, what is longer than 20 s is cut at a pause.

    Raises:
        InvalidRequest: What is left of a long one is silence.

    Source: OmniVoice.create_voice_clone_prompt, omnivoice 0.2.1.
    """
    waveform = sinc_resample(recording.waveform, recording.sample_rate, SAMPLE_RATE)[0]
    # numpy's order of summation, which decides the last bits of every sample.
    level = float(np.sqrt(np.mean(waveform.numpy() ** 2)))
    if 0 < level < LOUD:
        waveform = waveform * LOUD / level
    if not has_words:
        waveform = _without_end(waveform)
    waveform = without_silence(waveform, SAMPLE_RATE, middle=200, lead=100, trail=200)
    hop = SAMPLE_RATE // FRAME_RATE_HZ
    if len(waveform) < hop:
        raise InvalidRequest(
            "The reference recording begins with nothing but silence; cut that off, or give the words of the recording."
        )
    return waveform[: len(waveform) - len(waveform) % hop], level


def _without_end(waveform: torch.Tensor) -> torch.Tensor:
    if len(waveform) / SAMPLE_RATE <= _LONG_S:
        return waveform
    clip = Clip.from_waveform(waveform, SAMPLE_RATE)
    ranges = sounding_ranges(clip, 100, -40)
    if not ranges:
        return waveform
    starts = [start for start, _ in ranges if start <= _KEPT_MS]
    split = max(starts, default=0)
    if split < _LEAST_MS:
        split = min(_KEPT_MS, clip.length)
    return clip.cut(0, split).waveform


def with_stop(words: str) -> str:
    """`words` with a mark at their end."""
    words = words.strip()
    if not words or words[-1] in _SENTENCE_ENDS:
        return words
    return words + ("。" if any("\u4e00" <= letter <= "\u9fff" for letter in words) else ".")


def reference_of(voice: VoicePrompt | None, config: TalkerConfig) -> Reference | None:
    """What a voice means to the talker; None if it was not cloned.

    Raises:
        InvalidRequest: Its tensors are damaged, or it was made by a model of another shape.
    """
    if voice is None or not voice.tensors:
        return None
    codes, level = voice.tensors.get(CODES), voice.tensors.get(LEVEL)
    if codes is None or level is None or not _is_sound(codes, level, config):
        raise InvalidRequest(f'The voice "{voice.name}" is damaged; make it again with a Voice Prompt node.')
    if len(codes) != config.num_codebooks:
        raise InvalidRequest(f'The voice "{voice.name}" was made by another OmniVoice model; make it again with this.')
    return Reference(codes, voice.facts.get(TRANSCRIPT, ""), float(level))


def _is_sound(codes: torch.Tensor, level: torch.Tensor, config: TalkerConfig) -> bool:
    is_table = codes.dtype == torch.int64 and codes.dim() == 2 and codes.numel() > 0
    is_level = level.shape == (1,) and bool(level.isfinite().all())
    return is_level and is_table and bool(((codes >= 0) & (codes < config.mask_id)).all())
