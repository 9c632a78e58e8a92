"""The encoder of the Mimi codec: waveform to codes at 12.5 Hz."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import torch
from torch import nn

from .. import ops
from ..attention import Site
from ..lm.rope import rotary
from ..loading.fields import number
from ..loading.shapes import require, size_list, sizes
from .causal import CausalConv1d
from .rvq import SplitQuantizerEncoder
from .scaled import FeedForward, RotaryAttention, ScaledLayer

_DOWNSAMPLE = 2  # from the transformer's rate to the codes'
_REQUIRED = {"use_causal_conv": True, "use_conv_shortcut": False, "pad_mode": "constant", "hidden_act": "gelu"}


@dataclass(frozen=True, slots=True)
class MimiConfig:
    """Shape of the encoder; names as in `config.json` but for the usual ones."""

    audio_channels: int
    num_filters: int
    ratios: tuple[int, ...]  # of the strides, first to last
    num_residual_layers: int
    kernel_size: int
    residual_kernel_size: int
    last_kernel_size: int
    dilation_growth_rate: int
    compress: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    rope_theta: float
    norm_eps: float
    num_codebooks: int
    num_semantic_codebooks: int
    codebook_size: int
    codebook_dim: int

    @classmethod
    def from_json(cls, config: Mapping[str, Any], num_codebooks: int | None = None) -> MimiConfig:
        """The shape that a published `config.json` states.

        Args:
            config: Of the encoder.
            num_codebooks: How many of its codebooks to use; all when None.

        Raises:
            ModelFileError: A key is missing, or the codec is of a kind that this encoder does not compute.
        """
        require(config, _REQUIRED, "codec encoder")
        shape = cls(
            **sizes(config, _SIZES),
            ratios=tuple(reversed(size_list(config, "upsampling_ratios"))),
            rope_theta=number(config, "rope_theta", float),
            norm_eps=number(config, "norm_eps", float),
        )
        return shape if num_codebooks is None else replace(shape, num_codebooks=num_codebooks)

    @property
    def hop_length(self) -> int:
        """Samples of a code."""
        return prod(self.ratios) * _DOWNSAMPLE


_SIZES = {
    **{"audio_channels": "audio_channels", "num_filters": "num_filters", "num_residual_layers": "num_residual_layers"},
    **{"kernel_size": "kernel_size", "residual_kernel_size": "residual_kernel_size"},
    **{"last_kernel_size": "last_kernel_size", "dilation_growth_rate": "dilation_growth_rate", "compress": "compress"},
    **{"hidden_size": "hidden_size", "intermediate_size": "intermediate_size", "num_hidden_layers": "num_layers"},
    **{"num_attention_heads": "num_heads", "num_key_value_heads": "num_kv_heads", "head_dim": "head_dim"},
    **{"num_quantizers": "num_codebooks", "num_semantic_quantizers": "num_semantic_codebooks"},
    **{"codebook_size": "codebook_size", "codebook_dim": "codebook_dim"},
}


class ResidualUnit(nn.Module):
    """Two convolutions, each behind an ELU, added to what came in."""

    def __init__(self, channels: int, inner_channels: int, kernel_size: int, dilation: int) -> None:
        super().__init__()
        self.block = nn.Sequential(
            nn.ELU(),
            CausalConv1d(channels, inner_channels, kernel_size, dilation=dilation),
            nn.ELU(),
            CausalConv1d(inner_channels, channels, 1),
        )

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, channels, T] -> the same shape."""
        branch: torch.Tensor = self.block(hidden)
        return hidden + branch


class MimiEncoder(nn.Module):
    """Waveform -> codes.

    Args:
        config: Shape.
        site_name: Names its attention.

    Source: MimiModel.encode, transformers 4.57.3 with sdpa: the whole sequence is visible, whatever window the
        configuration states.
    """

    def __init__(self, config: MimiConfig, site_name: str) -> None:
        super().__init__()
        self.config = config
        self.convs = nn.Sequential(*_seanet(config))
        site = Site(site_name, config.num_heads, config.head_dim, config.num_kv_heads)
        self.layers = nn.ModuleList(_layer(config, site) for _ in range(config.num_layers))
        self.downsample = CausalConv1d(
            *(config.hidden_size, config.hidden_size, 2 * _DOWNSAMPLE, _DOWNSAMPLE), bias=False, pad_mode="replicate"
        )
        self.quantizer = SplitQuantizerEncoder(
            *(config.num_codebooks, config.codebook_size, config.codebook_dim, config.hidden_size),
            num_semantic=config.num_semantic_codebooks,
        )

    def memory_units(self) -> list[str]:
        """Names of the submodules whose weights may move one by one."""
        convs = [f"convs.{index}" for index in range(len(self.convs))]
        return [*convs, *(f"layers.{index}" for index in range(len(self.layers))), "downsample"]

    def forward(self, waveform: torch.Tensor) -> torch.Tensor:
        """[B, C, T] at the codec's sample rate -> [B, K, ceil(T / hop_length)] int64."""
        hidden = self.convs(waveform).transpose(1, 2)
        positions = torch.arange(hidden.shape[1], device=hidden.device)[None]
        angles = rotary(positions, self.config.head_dim, self.config.rope_theta, hidden.dtype)
        for layer in self.layers:
            hidden = layer(hidden, angles)
        codes: torch.Tensor = self.quantizer(self.downsample(hidden.transpose(1, 2)))
        return codes


def _seanet(config: MimiConfig) -> Iterator[nn.Module]:
    channels = config.num_filters
    yield CausalConv1d(config.audio_channels, channels, config.kernel_size)
    for ratio in config.ratios:
        for index in range(config.num_residual_layers):
            dilation = config.dilation_growth_rate**index
            yield ResidualUnit(channels, channels // config.compress, config.residual_kernel_size, dilation)
        yield nn.ELU()
        yield CausalConv1d(channels, 2 * channels, 2 * ratio, ratio)
        channels *= 2
    yield nn.ELU()
    yield CausalConv1d(channels, config.hidden_size, config.last_kernel_size)


def _layer(config: MimiConfig, site: Site) -> ScaledLayer:
    size = config.hidden_size
    return ScaledLayer(
        size,
        ops.LayerNorm(size, eps=config.norm_eps),
        RotaryAttention(size, site),
        ops.LayerNorm(size, eps=config.norm_eps),
        FeedForward(size, config.intermediate_size),
    )
