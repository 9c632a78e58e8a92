"""Encoder and decoder of the Descript audio codec: waveform to vectors and back. Quantizers belong to the engines."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from .. import ops
from ..loading.fields import positive
from ..loading.shapes import size_list
from .snake import Snake1d

_DILATIONS = (1, 3, 9)


@dataclass(frozen=True, slots=True)
class DacConfig:
    """Shape of both halves.

    Attributes:
        encoder_channels: Of the first convolution; doubled by every stage.
        decoder_channels: Of the first convolution; halved by every stage.
        latent_dim: Channels between the halves.
        downsampling_ratios: Strides of the encoder.
        upsampling_ratios: Strides of the decoder.
    """

    encoder_channels: int
    decoder_channels: int
    latent_dim: int
    downsampling_ratios: tuple[int, ...]
    upsampling_ratios: tuple[int, ...]

    @classmethod
    def from_json(cls, config: Mapping[str, Any]) -> DacConfig:
        """The shape that a published `config.json` states.

        Raises:
            ModelFileError: A key is missing or of another kind.
        """
        return cls(
            encoder_channels=positive(config, "encoder_hidden_size", int),
            decoder_channels=positive(config, "decoder_hidden_size", int),
            latent_dim=positive(config, "hidden_size", int),
            downsampling_ratios=size_list(config, "downsampling_ratios"),
            upsampling_ratios=size_list(config, "upsampling_ratios"),
        )

    @property
    def hop_length(self) -> int:
        """Samples of a vector."""
        return math.prod(self.downsampling_ratios)


class DacResidualUnit(nn.Module):
    """Two convolutions, each behind a `Snake1d`, added to what came in."""

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.snake1 = Snake1d(channels)
        self.conv1 = ops.Conv1d(channels, channels, 7, dilation=dilation, padding=3 * dilation)
        self.snake2 = Snake1d(channels)
        self.conv2 = ops.Conv1d(channels, channels, 1)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, channels, T] -> the same shape."""
        branch: torch.Tensor = self.conv2(self.snake2(self.conv1(self.snake1(hidden))))
        return branch.add_(hidden)


class _Stage(nn.Module):
    """What stages of both halves have."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.res_unit1, self.res_unit2, self.res_unit3 = (DacResidualUnit(channels, each) for each in _DILATIONS)

    def residual(self, hidden: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.res_unit3(self.res_unit2(self.res_unit1(hidden)))
        return found


class DacEncoderStage(_Stage):
    """Residual units, then a convolution by `stride` to twice the channels."""

    def __init__(self, channels: int, stride: int) -> None:
        super().__init__(channels)
        self.snake1 = Snake1d(channels)
        self.conv1 = ops.Conv1d(channels, 2 * channels, 2 * stride, stride, padding=math.ceil(stride / 2))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, channels, T] -> [B, 2 * channels, about T / stride]."""
        return self.conv1(self.snake1(self.residual(hidden)))


class DacDecoderStage(_Stage):
    """A transposed convolution by `stride` to half the channels, then residual units."""

    def __init__(self, channels: int, stride: int, output_padding: int) -> None:
        half = channels // 2
        super().__init__(half)
        self.snake1 = Snake1d(channels)
        self.conv_t1 = ops.ConvTranspose1d(
            *(channels, half, 2 * stride, stride), padding=math.ceil(stride / 2), output_padding=output_padding
        )

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, channels, T] -> [B, channels / 2, about T * stride]."""
        return self.residual(self.conv_t1(self.snake1(hidden)))


class DacEncoder(nn.Module):
    """Waveform -> vectors.

    Source: DacEncoder, transformers 4.57.3 models/dac/modeling_dac.py.
    """

    def __init__(self, config: DacConfig) -> None:
        super().__init__()
        self.config = config
        channels, ratios = config.encoder_channels, config.downsampling_ratios
        last = channels * 2 ** len(ratios)
        self.conv1 = ops.Conv1d(1, channels, 7, padding=3)
        self.block = nn.ModuleList(DacEncoderStage(channels * 2**index, ratio) for index, ratio in enumerate(ratios))
        self.snake1 = Snake1d(last)
        self.conv2 = ops.Conv1d(last, config.latent_dim, 3, padding=1)

    def memory_units(self) -> list[str]:
        """Names of the submodules whose weights may move one by one."""
        return _units(self.block, "conv1")

    def num_frames(self, num_samples: int) -> int:
        """Vectors of a waveform of `num_samples`."""
        for stride in self.config.downsampling_ratios:
            num_samples = (num_samples + 2 * math.ceil(stride / 2) - 2 * stride) // stride + 1
        return num_samples

    def forward(self, waveform: torch.Tensor) -> torch.Tensor:
        """[B, 1, T] -> [B, latent_dim, num_frames(T)]."""
        hidden: torch.Tensor = self.conv1(waveform)
        for stage in self.block:
            hidden = stage(hidden)
        return self.conv2(self.snake1(hidden))


class DacDecoder(nn.Module):
    """Vectors -> waveform.

    Args:
        config: Shape.
        is_whole: Whether a vector gives exactly `hop_length` samples; as published, odd strides lose one each.
        is_bounded: Whether a hyperbolic tangent keeps the waveform within -1..1, as published.

    Source: DacDecoder, transformers 4.57.3 models/dac/modeling_dac.py; whole and unbounded, the acoustic decoder of
        HiggsAudioV2TokenizerModel, transformers 5.24.0.
    """

    def __init__(self, config: DacConfig, *, is_whole: bool = False, is_bounded: bool = True) -> None:
        super().__init__()
        self.config = config
        self.is_bounded = is_bounded
        channels, ratios = config.decoder_channels, config.upsampling_ratios
        last = channels // 2 ** len(ratios)
        self.conv1 = ops.Conv1d(config.latent_dim, channels, 7, padding=3)
        self.block = nn.ModuleList(
            DacDecoderStage(channels // 2**index, ratio, ratio % 2 if is_whole else 0)
            for index, ratio in enumerate(ratios)
        )
        self.snake1 = Snake1d(last)
        self.conv2 = ops.Conv1d(last, 1, 7, padding=3)

    def memory_units(self) -> list[str]:
        """Names of the submodules whose weights may move one by one."""
        return ["conv1", *_units(self.block, "conv_t1")]

    def forward(self, latent: torch.Tensor) -> torch.Tensor:
        """[B, latent_dim, T] -> [B, 1, about T * hop_length]."""
        hidden: torch.Tensor = self.conv1(latent)
        for stage in self.block:
            hidden = stage(hidden)
        waveform: torch.Tensor = self.conv2(self.snake1(hidden))
        return waveform.tanh_() if self.is_bounded else waveform


def _units(stages: nn.ModuleList, conv: str) -> list[str]:
    """Every part of a stage on its own: stages double in size, and the largest would set what a slot takes."""
    parts = ("res_unit1", "res_unit2", "res_unit3", conv)
    return [f"block.{index}.{part}" for index in range(len(stages)) for part in parts]
