"""HuBERT: a waveform at 16 kHz to hidden states of speech at 50 Hz, by a network of the shape of its base model.

Modules are named as in the official checkpoints.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from .. import ops
from ..attention import Site, attend
from ..errors import ModelFileError
from ..loading.fields import positive
from ..loading.shapes import require, size_list

_REQUIRED = {
    **{"feat_extract_norm": "group", "conv_bias": False, "feat_extract_activation": "gelu", "hidden_act": "gelu"},
    **{"do_stable_layer_norm": False, "feat_proj_layer_norm": True, "conv_pos_batch_norm": False},
}


@dataclass(frozen=True, slots=True)
class HubertConfig:
    """Shape of the network; names as in `config.json` but for the usual ones."""

    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    norm_eps: float
    conv_channels: tuple[int, ...]
    conv_kernels: tuple[int, ...]
    conv_strides: tuple[int, ...]
    position_kernel: int
    position_groups: int

    @classmethod
    def from_json(cls, config: Mapping[str, Any]) -> HubertConfig:
        """The shape that a published `config.json` states.

        Raises:
            ModelFileError: A key is missing, or the network is of a kind that is not computed here.
        """
        require(config, _REQUIRED, "HuBERT model")
        shape = cls(
            hidden_size=positive(config, "hidden_size", int),
            intermediate_size=positive(config, "intermediate_size", int),
            num_layers=positive(config, "num_hidden_layers", int),
            num_heads=positive(config, "num_attention_heads", int),
            norm_eps=positive(config, "layer_norm_eps", float),
            conv_channels=size_list(config, "conv_dim"),
            conv_kernels=size_list(config, "conv_kernel"),
            conv_strides=size_list(config, "conv_stride"),
            position_kernel=positive(config, "num_conv_pos_embeddings", int),
            position_groups=positive(config, "num_conv_pos_embedding_groups", int),
        )
        lengths = {len(shape.conv_channels), len(shape.conv_kernels), len(shape.conv_strides)}
        if len(lengths) > 1 or shape.hidden_size % shape.num_heads or shape.hidden_size % shape.position_groups:
            raise ModelFileError("The HuBERT model's configuration contradicts itself; download its config.json again.")
        return shape


class ConvLayer(nn.Module):
    """A convolution without bias and a GELU; in the first layer of the network with a norm of each channel between."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int, has_norm: bool) -> None:
        super().__init__()
        self.conv = ops.Conv1d(in_channels, out_channels, kernel_size, stride, bias=False)
        self.layer_norm = ChannelNorm(out_channels) if has_norm else None

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, in_channels, T] -> [B, out_channels, T / stride]."""
        hidden = self.conv(hidden)
        if self.layer_norm is not None:
            hidden = self.layer_norm(hidden)
        return F.gelu(hidden)


class ChannelNorm(nn.Module):
    """Every channel of a recording normed over its whole time."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(channels))
        self.bias = nn.Parameter(torch.empty(channels))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, channels, T] -> the same shape."""
        return F.group_norm(hidden, len(self.weight), self.weight, self.bias)


class FeatureExtractor(nn.Module):
    """Samples -> frames."""

    def __init__(self, config: HubertConfig) -> None:
        super().__init__()
        channels = (1, *config.conv_channels)
        shapes = zip(channels, channels[1:], config.conv_kernels, config.conv_strides, strict=False)
        self.conv_layers = nn.ModuleList(ConvLayer(*shape, has_norm=index == 0) for index, shape in enumerate(shapes))

    def forward(self, waveform: torch.Tensor) -> torch.Tensor:
        """[B, T] -> [B, frames, channels]."""
        hidden = waveform[:, None]
        for layer in self.conv_layers:
            hidden = layer(hidden)
        return hidden.transpose(1, 2)


class FeatureProjection(nn.Module):
    """A norm and a linear layer."""

    def __init__(self, channels: int, config: HubertConfig) -> None:
        super().__init__()
        self.layer_norm = ops.LayerNorm(channels, eps=config.norm_eps)
        self.projection = ops.Linear(channels, config.hidden_size)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, frames, channels] -> [B, frames, hidden_size]."""
        return self.projection(self.layer_norm(hidden))


class PositionConv(nn.Module):
    """What a frame's neighbourhood says of its place: a wide grouped convolution and a GELU."""

    def __init__(self, config: HubertConfig) -> None:
        super().__init__()
        size, taps = config.hidden_size, config.position_kernel
        self.conv = ops.Conv1d(size, size, taps, padding=taps // 2, groups=config.position_groups)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, frames, hidden_size] -> the same shape."""
        found = self.conv(hidden.transpose(1, 2))
        return F.gelu(found[:, :, : hidden.shape[1]]).transpose(1, 2)


class Attention(nn.Module):
    """Full self-attention with a layer each for query, key, value and output."""

    def __init__(self, site: Site) -> None:
        super().__init__()
        self.site = site
        size = site.num_heads * site.head_dim
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (ops.Linear(size, size) for _ in range(4))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, frames, hidden_size] -> the same shape."""
        query, key, value = (
            layer(hidden).unflatten(-1, (self.site.num_heads, -1)).transpose(1, 2)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        return self.out_proj(attend(query, key, value, site=self.site).transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    """Two linear layers with a GELU between."""

    def __init__(self, config: HubertConfig) -> None:
        super().__init__()
        self.intermediate_dense = ops.Linear(config.hidden_size, config.intermediate_size)
        self.output_dense = ops.Linear(config.intermediate_size, config.hidden_size)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, frames, hidden_size] -> the same shape."""
        return self.output_dense(F.gelu(self.intermediate_dense(hidden)))


class HubertLayer(nn.Module):
    """Attention and feed-forward, each added to its input and normed after that."""

    def __init__(self, config: HubertConfig, site: Site) -> None:
        super().__init__()
        self.attention = Attention(site)
        self.layer_norm = ops.LayerNorm(config.hidden_size, eps=config.norm_eps)
        self.feed_forward = FeedForward(config)
        self.final_layer_norm = ops.LayerNorm(config.hidden_size, eps=config.norm_eps)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, frames, hidden_size] -> the same shape."""
        hidden = self.layer_norm(hidden + self.attention(hidden))
        return self.final_layer_norm(hidden + self.feed_forward(hidden))


class Encoder(nn.Module):
    """The layers, and what is done before them."""

    def __init__(self, config: HubertConfig, site: Site) -> None:
        super().__init__()
        self.pos_conv_embed = PositionConv(config)
        self.layer_norm = ops.LayerNorm(config.hidden_size, eps=config.norm_eps)
        self.layers = nn.ModuleList(HubertLayer(config, site) for _ in range(config.num_layers))

    def forward(self, hidden: torch.Tensor) -> Iterator[torch.Tensor]:
        """What the first layer takes, and what each gives, [B, frames, hidden_size]."""
        hidden = self.layer_norm(hidden + self.pos_conv_embed(hidden))
        yield hidden
        for layer in self.layers:
            hidden = layer(hidden)
            yield hidden


class Hubert(nn.Module):
    """Waveform -> hidden states, in evaluation: nothing is masked or dropped.

    The gain of the position convolution is folded into its weight when the checkpoint is read.

    Args:
        config: Shape.
        site_name: Names its attention.

    Source: HubertModel.forward, transformers 4.57.3 with sdpa.
    """

    def __init__(self, config: HubertConfig, site_name: str) -> None:
        super().__init__()
        self.config = config
        site = Site(site_name, config.num_heads, config.hidden_size // config.num_heads)
        self.feature_extractor = FeatureExtractor(config)
        self.feature_projection = FeatureProjection(config.conv_channels[-1], config)
        self.encoder = Encoder(config, site)

    def memory_units(self) -> list[str]:
        """Names of the submodules whose weights may move one by one."""
        convs = [f"feature_extractor.conv_layers.{index}" for index in range(len(self.config.conv_channels))]
        layers = [f"encoder.layers.{index}" for index in range(self.config.num_layers)]
        return [*convs, "encoder.pos_conv_embed", *layers]

    def forward(self, waveform: torch.Tensor) -> Iterator[torch.Tensor]:
        """[B, T] at 16 kHz -> the input of the first layer and the output of each, [B, frames, hidden_size].

        Each is made when it is asked for; the last one is the model's output.
        """
        yield from self.encoder(self.feature_projection(self.feature_extractor(waveform)))
