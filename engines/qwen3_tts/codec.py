"""The codec decoder: codes at 12.5 Hz to a 24 kHz waveform, a whole sequence or chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from ...mizuoto_runtime import ops
from ...mizuoto_runtime.attention import Site
from ...mizuoto_runtime.errors import InvalidRequest, ModelFileError
from ...mizuoto_runtime.lm.qwen import GatedMlp
from ...mizuoto_runtime.lm.rope import rotary
from ...mizuoto_runtime.loading.fields import number
from ...mizuoto_runtime.loading.shapes import require, size_list, sizes
from ...mizuoto_runtime.nn.causal import CausalConv1d, CausalConvTranspose1d
from ...mizuoto_runtime.nn.norm import RMSNorm
from ...mizuoto_runtime.nn.rvq import SplitQuantizerDecoder
from ...mizuoto_runtime.nn.scaled import RotaryAttention, ScaledLayer
from ...mizuoto_runtime.nn.snake import SnakeBeta

SAMPLES_PER_FRAME = 1920  # 12.5 frames a second of 24 kHz
CHUNK_FRAMES = 300
LEFT_CONTEXT_FRAMES = 25
_DILATIONS = (1, 3, 9)
_REQUIRED = {"attention_bias": False, "hidden_act": "silu"}


@dataclass(frozen=True, slots=True)
class CodecConfig:
    """Shape of the decoder; names as in `config.json` but for the usual ones."""

    num_codebooks: int
    codebook_size: int
    codebook_dim: int  # outside the quantizer; its entries are half as wide
    latent_dim: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    sliding_window: int
    rope_theta: float
    norm_eps: float
    upsampling_ratios: tuple[int, ...]
    upsample_rates: tuple[int, ...]
    decoder_dim: int

    @classmethod
    def from_json(cls, config: Mapping[str, Any]) -> CodecConfig:
        """The shape that `decoder_config` of a published `config.json` states.

        Raises:
            ModelFileError: A key is missing, or the codec is of a kind that this decoder does not compute.
        """
        require(config, _REQUIRED, "codec decoder")
        shape = cls(
            **sizes(config, _SIZES),
            rope_theta=number(config, "rope_theta", float),
            norm_eps=number(config, "rms_norm_eps", float),
            upsampling_ratios=size_list(config, "upsampling_ratios"),
            upsample_rates=size_list(config, "upsample_rates"),
        )
        hop_length = prod(shape.upsampling_ratios) * prod(shape.upsample_rates)
        if hop_length != SAMPLES_PER_FRAME:
            raise ModelFileError(
                f"The codec makes {hop_length} samples of a frame instead of {SAMPLES_PER_FRAME}; use the speech "
                "tokenizer of a 12 Hz model."
            )
        return shape


_SIZES = {
    **{"num_quantizers": "num_codebooks", "codebook_size": "codebook_size", "codebook_dim": "codebook_dim"},
    **{"latent_dim": "latent_dim", "hidden_size": "hidden_size", "intermediate_size": "intermediate_size"},
    **{"num_hidden_layers": "num_layers", "num_attention_heads": "num_heads", "num_key_value_heads": "num_kv_heads"},
    **{"head_dim": "head_dim", "sliding_window": "sliding_window", "decoder_dim": "decoder_dim"},
}


class WindowTransformer(nn.Module):
    """Transformer in which a frame sees the `sliding_window` frames up to itself; frames in rows."""

    def __init__(self, config: CodecConfig) -> None:
        super().__init__()
        self.config = config
        size, eps = config.hidden_size, config.norm_eps
        site = Site("qwen3_tts:codec.transformer", config.num_heads, config.head_dim, config.num_kv_heads)
        self.input_proj = ops.Linear(config.latent_dim, size)
        self.layers = nn.ModuleList(
            ScaledLayer(
                size,
                RMSNorm(size, eps),
                RotaryAttention(size, site),
                RMSNorm(size, eps),
                GatedMlp(size, config.intermediate_size),
            )
            for _ in range(config.num_layers)
        )
        self.norm = RMSNorm(size, eps)
        self.output_proj = ops.Linear(size, config.latent_dim)

    def forward(self, latent: torch.Tensor) -> torch.Tensor:
        """[B, T, latent_dim] -> the same shape."""
        hidden = self.input_proj(latent)
        positions = torch.arange(hidden.shape[1], device=hidden.device)
        angles = rotary(positions[None], self.config.head_dim, self.config.rope_theta, hidden.dtype)
        mask = self._mask(positions)
        for layer in self.layers:
            hidden = layer(hidden, angles, mask)
        return self.output_proj(self.norm(hidden))

    def _mask(self, positions: torch.Tensor) -> torch.Tensor | None:
        """[1, 1, T, T], True where a row sees a column; None where every row sees all up to itself."""
        if len(positions) < self.config.sliding_window:
            return None
        age = positions[:, None] - positions
        return ((age >= 0) & (age < self.config.sliding_window))[None, None]


class UpsampleStage(nn.Module):
    """Transposed convolution by `factor`, then a causal ConvNeXt block."""

    def __init__(self, channels: int, factor: int) -> None:
        super().__init__()
        self.conv = CausalConvTranspose1d(channels, channels, factor, factor)
        self.depthwise = CausalConv1d(channels, channels, 7, groups=channels)
        self.norm = ops.LayerNorm(channels, eps=1e-6)
        self.expand = ops.Linear(channels, 4 * channels)
        self.project = ops.Linear(4 * channels, channels)
        self.gamma = nn.Parameter(torch.empty(channels))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, channels, T] -> [B, channels, T * factor]."""
        hidden = self.conv(hidden)
        branch = self.norm(self.depthwise(hidden).transpose(1, 2))
        branch = self.gamma * self.project(F.gelu(self.expand(branch)))
        return hidden + branch.transpose(1, 2)


class ResidualUnit(nn.Module):
    """Two convolutions, each behind a `SnakeBeta`, added to what came in."""

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.snake1 = SnakeBeta(channels)
        self.conv1 = CausalConv1d(channels, channels, 7, dilation=dilation)
        self.snake2 = SnakeBeta(channels)
        self.conv2 = CausalConv1d(channels, channels, 1)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, channels, T] -> the same shape."""
        branch = self.conv2(self.snake2(self.conv1(self.snake1(hidden))))
        return branch.add_(hidden)


class WaveStage(nn.Sequential):
    """`SnakeBeta`, a transposed convolution by `rate` to half the channels, residual units."""

    def __init__(self, channels: int, rate: int) -> None:
        half = channels // 2
        super().__init__(
            SnakeBeta(channels),
            CausalConvTranspose1d(channels, half, 2 * rate, rate),
            *(ResidualUnit(half, dilation) for dilation in _DILATIONS),
        )


class CodecDecoder(nn.Module):
    """Codes -> waveform.

    Source: Qwen3TTSTokenizerV2Decoder, qwen_tts 0.1.1 core/tokenizer_12hz/modeling_qwen3_tts_tokenizer_v2.py.
    """

    def __init__(self, config: CodecConfig) -> None:
        super().__init__()
        self.config = config
        latent, channels, num_stages = config.latent_dim, config.decoder_dim, len(config.upsample_rates)
        last = channels // 2**num_stages
        self.quantizer = SplitQuantizerDecoder(
            config.num_codebooks, config.codebook_size, config.codebook_dim // 2, config.codebook_dim
        )
        self.latent_conv = CausalConv1d(config.codebook_dim, latent, 3)
        self.transformer = WindowTransformer(config)
        self.upsample = nn.ModuleList(UpsampleStage(latent, factor) for factor in config.upsampling_ratios)
        self.wave = nn.Sequential(
            CausalConv1d(latent, channels, 7),
            *(WaveStage(channels // 2**index, rate) for index, rate in enumerate(config.upsample_rates)),
            SnakeBeta(last),
            CausalConv1d(last, 1, 7),
        )

    def memory_units(self) -> list[str]:
        """Names of the submodules whose weights may move one by one."""
        stages = [
            f"wave.{index}.{part}"
            for index, stage in enumerate(self.wave)
            if isinstance(stage, WaveStage)
            for part in range(1, len(stage))
        ]
        layers = [f"transformer.layers.{index}" for index in range(self.config.num_layers)]
        return [
            "latent_conv",
            *layers,
            *(f"upsample.{index}" for index in range(len(self.upsample))),
            "wave.0",
            *stages,
        ]

    def forward(self, codes: torch.Tensor) -> torch.Tensor:
        """[B, K, T] int64 -> [B, 1, T * 1920], -1..1.

        Raises:
            InvalidRequest: The codes are of another number of codebooks, or there are none.
        """
        if codes.shape[1] != self.config.num_codebooks or not codes.shape[-1]:
            raise InvalidRequest(
                f"The codes are {codes.shape[-1]} frames of {codes.shape[1]} codebooks, and this codec needs at least "
                f"one frame of {self.config.num_codebooks}; make them with a model of this kind."
            )
        latent = self.latent_conv(self.quantizer(codes)).transpose(1, 2)
        hidden = self.transformer(latent).transpose(1, 2)
        for stage in self.upsample:
            hidden = stage(hidden)
        waveform: torch.Tensor = self.wave(hidden)
        return waveform.clamp_(-1, 1)


class Window(NamedTuple):
    """Frames that are decoded at once; the first `context` of them belong to the window before."""

    start: int
    stop: int
    context: int


def windows(num_frames: int, chunk: int = CHUNK_FRAMES, left_context: int = LEFT_CONTEXT_FRAMES) -> Iterator[Window]:
    """The windows in which a sequence is decoded, in order.

    Source: Qwen3TTSTokenizerV2Decoder.chunked_decode, qwen_tts 0.1.1.
    """
    for start in range(0, num_frames, chunk):
        context = left_context if start > left_context else start
        yield Window(start - context, min(start + chunk, num_frames), context)
