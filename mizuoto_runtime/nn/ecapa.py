"""ECAPA-TDNN: a mel spectrogram to one vector that stands for the speaker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from .. import ops
from ..errors import ModelFileError
from ..loading.fields import number
from ..loading.shapes import size_list


@dataclass(frozen=True, slots=True)
class EcapaConfig:
    """Shape of the encoder; defaults are those of the published model, whose files state the embedding size only."""

    embedding_size: int
    num_mels: int = 128
    channels: tuple[int, ...] = (512, 512, 512, 512, 1536)
    kernel_sizes: tuple[int, ...] = (5, 3, 3, 3, 1)
    dilations: tuple[int, ...] = (1, 2, 3, 4, 1)
    attention_channels: int = 128
    squeezed_channels: int = 128
    num_scales: int = 8

    @classmethod
    def from_json(cls, config: Mapping[str, Any]) -> EcapaConfig:
        """The shape that `speaker_encoder_config` of a published `config.json` states.

        Raises:
            ModelFileError: "enc_dim" is missing, or the lists have different lengths.
        """
        found: dict[str, Any] = {"embedding_size": number(config, "enc_dim", int)}
        found |= {name: number(config, key, int) for key, name in _SIZES.items() if key in config}
        found |= {name: size_list(config, key) for key, name in _LISTS.items() if key in config}
        shape = cls(**found)
        if not len(shape.channels) == len(shape.kernel_sizes) == len(shape.dilations):
            raise ModelFileError(
                'The speaker encoder\'s "enc_channels", "enc_kernel_sizes" and "enc_dilations" differ in length; '
                "copy the model again."
            )
        return shape


_SIZES = {
    **{"mel_dim": "num_mels", "enc_res2net_scale": "num_scales"},
    **{"enc_attention_channels": "attention_channels", "enc_se_channels": "squeezed_channels"},
}
_LISTS = {"enc_channels": "channels", "enc_kernel_sizes": "kernel_sizes", "enc_dilations": "dilations"}


class SameConv1d(ops.Conv1d):
    """`Conv1d` of [B, C, T] that keeps the length, the ends mirrored."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int = 1, dilation: int = 1) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, dilation=dilation, padding="same", padding_mode="reflect"
        )


class TimeDelayLayer(SameConv1d):
    """`SameConv1d` and a ReLU."""

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, in_channels, T] -> [B, out_channels, T]."""
        return super().forward(hidden).relu_()


class Res2Net(nn.Module):
    """Equal groups of channels, each convolved together with the result of the group before it; the first passes."""

    def __init__(self, channels: int, num_scales: int, kernel_size: int, dilation: int) -> None:
        super().__init__()
        width = channels // num_scales
        self.num_scales = num_scales
        self.layers = nn.ModuleList(TimeDelayLayer(width, width, kernel_size, dilation) for _ in range(num_scales - 1))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, channels, T] -> the same shape."""
        first, *groups = hidden.chunk(self.num_scales, dim=1)
        outputs = [first]
        for index, (layer, group) in enumerate(zip(self.layers, groups, strict=True)):
            outputs.append(layer(group + outputs[-1] if index else group))
        return torch.cat(outputs, dim=1)


class SqueezeExcitation(nn.Module):
    """Every channel scaled by what the means over time of all channels say."""

    def __init__(self, channels: int, squeezed_channels: int) -> None:
        super().__init__()
        self.squeeze = SameConv1d(channels, squeezed_channels)
        self.excite = SameConv1d(squeezed_channels, channels)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, channels, T] -> the same shape."""
        scale = self.excite(self.squeeze(hidden.mean(dim=2, keepdim=True)).relu_()).sigmoid_()
        return hidden * scale


class EcapaBlock(nn.Module):
    """Layer, `Res2Net`, layer, `SqueezeExcitation`, added to what came in."""

    def __init__(self, config: EcapaConfig, index: int) -> None:
        super().__init__()
        channels = config.channels[index]
        self.enter = TimeDelayLayer(config.channels[index - 1], channels)
        self.res2net = Res2Net(channels, config.num_scales, config.kernel_sizes[index], config.dilations[index])
        self.leave = TimeDelayLayer(channels, channels)
        self.excitation = SqueezeExcitation(channels, config.squeezed_channels)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, channels, T] -> the same shape."""
        branch: torch.Tensor = self.excitation(self.leave(self.res2net(self.enter(hidden))))
        return branch + hidden


class AttentivePooling(nn.Module):
    """Mean and deviation over time, weighted by attention that sees both in plain form."""

    def __init__(self, channels: int, attention_channels: int) -> None:
        super().__init__()
        self.layer = TimeDelayLayer(3 * channels, attention_channels)
        self.score = SameConv1d(attention_channels, channels)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, channels, T] -> [B, 2 * channels, 1]."""
        uniform = hidden.new_ones(1) / hidden.shape[-1]
        context = [part.expand_as(hidden) for part in _statistics(hidden, uniform)]
        scores = self.score(self.layer(torch.cat((hidden, *context), dim=1)).tanh_())
        return torch.cat(_statistics(hidden, scores.softmax(dim=2)), dim=1)


def _statistics(hidden: torch.Tensor, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Weighted mean and standard deviation over time, [B, C, 1] each."""
    mean = (weights * hidden).sum(2, keepdim=True)
    variance = (weights * (hidden - mean).pow(2)).sum(2, keepdim=True)
    return mean, variance.clamp(1e-12).sqrt()


class SpeakerEncoder(nn.Module):
    """Log-mel spectrogram -> speaker embedding.

    Source: Qwen3TTSSpeakerEncoder, qwen_tts 0.1.1 core/models/modeling_qwen3_tts.py.
    """

    def __init__(self, config: EcapaConfig) -> None:
        super().__init__()
        last = config.channels[-1]
        self.enter = TimeDelayLayer(config.num_mels, config.channels[0], config.kernel_sizes[0], config.dilations[0])
        self.blocks = nn.ModuleList(EcapaBlock(config, index) for index in range(1, len(config.channels) - 1))
        self.merge = TimeDelayLayer(last, last, config.kernel_sizes[-1], config.dilations[-1])
        self.pooling = AttentivePooling(last, config.attention_channels)
        self.out = SameConv1d(2 * last, config.embedding_size)

    def memory_units(self) -> list[str]:
        """Names of the submodules whose weights may move one by one."""
        return [*(f"blocks.{index}" for index in range(len(self.blocks))), "merge", "pooling", "out"]

    def forward(self, mel: torch.Tensor) -> torch.Tensor:
        """[B, num_mels, T] -> [B, embedding_size]."""
        hidden = self.enter(mel)
        outputs = []
        for block in self.blocks:
            hidden = block(hidden)
            outputs.append(hidden)
        pooled = self.pooling(self.merge(torch.cat(outputs, dim=1)))
        embedding: torch.Tensor = self.out(pooled).squeeze(-1)
        return embedding
