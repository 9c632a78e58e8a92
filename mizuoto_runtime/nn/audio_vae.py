"""The AudioVAE of VoxCPM: causal convolutions between a waveform and its latent frames, whole or chunk by chunk.

The second version may encode and decode at different sample rates and tells its decoder which one is wanted; and it
pads odd strides by one sample less.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from .. import ops
from ..errors import ModelFileError
from ..loading.fields import positive
from ..loading.shapes import require, size_list
from .causal import CausalConv1d, CausalConvTranspose1d
from .snake import Snake1d

_DILATIONS = (1, 3, 9)
_KERNEL = 7
_REQUIRED = {"depthwise": True, "use_noise_block": False, "cond_out_layer": False}
_CONDITIONS = ("scale_bias", "scale_bias_init")  # they differ in how training begins
_FIRST = {
    **{"encoder_dim": 128, "encoder_rates": [2, 5, 8, 8], "latent_dim": 64, "sample_rate": 16000},
    **{"decoder_dim": 1536, "decoder_rates": [8, 8, 5, 2]},
}
_SECOND = {
    **_FIRST,
    **{"decoder_dim": 2048, "decoder_rates": [8, 6, 5, 2, 2, 2], "out_sample_rate": 48000},
    **{"sr_bin_boundaries": [20000, 30000, 40000], "cond_type": "scale_bias"},
}


@dataclass(frozen=True, slots=True)
class AudioVaeConfig:
    """Shape of both halves; names as in `config.json` but for the usual ones.

    Attributes:
        rate_boundaries: Hz between the sample rates that the decoder tells apart; empty if it knows one only.
        pads_odd_strides: Whether odd strides of the encoder have one sample of padding more (the first version).
    """

    encoder_dim: int
    encoder_rates: tuple[int, ...]
    latent_dim: int
    decoder_dim: int
    decoder_rates: tuple[int, ...]
    sample_rate: int
    out_sample_rate: int
    rate_boundaries: tuple[int, ...]
    pads_odd_strides: bool

    @classmethod
    def from_json(cls, config: Mapping[str, Any], is_second: bool) -> AudioVaeConfig:
        """The shape that `audio_vae_config` of a published `config.json` states; what it leaves out is as published.

        Raises:
            ModelFileError: The network is of a kind that was never published.
        """
        require(config, _REQUIRED, "AudioVAE")
        full = {**(_SECOND if is_second else _FIRST), **config}
        has_rates = full.get("sr_bin_boundaries") is not None and is_second
        if has_rates and full["cond_type"] not in _CONDITIONS:
            raise ModelFileError(f'The AudioVAE has "cond_type" {full["cond_type"]!r}; {_CONDITIONS[0]} can be loaded.')
        sample_rate = positive(full, "sample_rate", int)
        found = cls(
            encoder_dim=positive(full, "encoder_dim", int),
            encoder_rates=size_list(full, "encoder_rates"),
            latent_dim=positive(full, "latent_dim", int),
            decoder_dim=positive(full, "decoder_dim", int),
            decoder_rates=size_list(full, "decoder_rates"),
            sample_rate=sample_rate,
            out_sample_rate=positive(full, "out_sample_rate", int) if is_second else sample_rate,
            rate_boundaries=size_list(full, "sr_bin_boundaries") if has_rates else (),
            pads_odd_strides=not is_second,
        )
        if found.decoder_dim % 2 ** len(found.decoder_rates):
            raise ModelFileError(
                f"An AudioVAE decoder of {found.decoder_dim} channels cannot be halved {len(found.decoder_rates)} "
                "times; download its config.json again."
            )
        return found

    @property
    def encode_hop(self) -> int:
        """Samples in a latent frame."""
        return prod(self.encoder_rates)

    @property
    def decode_hop(self) -> int:
        """Samples out of a latent frame."""
        return prod(self.decoder_rates)


class Tails:
    """What the causal layers of one stream remember between two chunks.

    A chunk reads what the one before left and leaves something new, so that it can be computed again.

    Args:
        before: What the chunk before left; None for the first.
    """

    def __init__(self, before: Tails | None = None) -> None:
        self._before = {} if before is None else before._after
        self._after: dict[nn.Module, torch.Tensor] = {}

    def joined(self, layer: nn.Module, hidden: torch.Tensor, size: int) -> torch.Tensor:
        """`hidden` [B, C, T] behind the `size` steps that came before it in the stream, zeros at its start."""
        before = self._before.get(layer)
        if before is None:
            before = hidden.new_zeros(*hidden.shape[:2], size)
        joined = torch.cat((before, hidden), dim=-1)
        self._after[layer] = joined[..., -size:].clone()
        return joined


class StreamedConv1d(CausalConv1d):
    """`CausalConv1d` that can go on where a chunk ended."""

    def forward(self, hidden: torch.Tensor, tails: Tails | None = None) -> torch.Tensor:
        """[B, C_in, T] -> [B, C_out, ceil(T / stride)]; T is a multiple of the stride in a stream."""
        if tails is None or not self._past:
            return super().forward(hidden)
        return ops.Conv1d.forward(self, tails.joined(self, hidden, self._past))


class StreamedConvTranspose1d(CausalConvTranspose1d):
    """`CausalConvTranspose1d` of kernel `2 * stride` that can go on where a chunk ended."""

    def forward(self, hidden: torch.Tensor, tails: Tails | None = None) -> torch.Tensor:  # type: ignore[override]
        """[B, C_in, T] -> [B, C_out, T * stride]."""
        if tails is None:
            return super().forward(hidden)
        stride = self.stride[0]
        return super().forward(tails.joined(self, hidden, 1))[..., stride:].contiguous()


class PaddedConv1d(CausalConv1d):
    """`CausalConv1d` of an odd stride that sees one sample of the past more and of the present less.

    Source: CausalEncoderBlock, voxcpm 2.0.3 modules/audiovae/audio_vae.py: it pads `2 * ceil(stride / 2)`.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride)
        self._past += stride % 2


class ResidualUnit(nn.Module):
    """A depthwise and a dense convolution, each behind a `Snake1d`, added to what came in."""

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.block = nn.ModuleList(
            (
                Snake1d(channels),
                StreamedConv1d(channels, channels, _KERNEL, dilation=dilation, groups=channels),
                Snake1d(channels),
                StreamedConv1d(channels, channels, 1),
            )
        )

    def forward(self, hidden: torch.Tensor, tails: Tails | None = None) -> torch.Tensor:
        """[B, channels, T] -> the same shape."""
        return _through(self.block, hidden, tails).add_(hidden)


class DownStage(nn.Module):
    """Residual units, `Snake1d`, a convolution by `rate` to twice the channels."""

    def __init__(self, channels: int, rate: int, pads_odd_strides: bool) -> None:
        super().__init__()
        conv = PaddedConv1d if pads_odd_strides else CausalConv1d
        self.block = nn.Sequential(
            *(ResidualUnit(channels, dilation) for dilation in _DILATIONS),
            Snake1d(channels),
            conv(channels, 2 * channels, 2 * rate, rate),
        )

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, channels, T] -> [B, 2 * channels, T / rate]."""
        made: torch.Tensor = self.block(hidden)
        return made


class UpStage(nn.Module):
    """`Snake1d`, a transposed convolution by `rate` to half the channels, residual units."""

    def __init__(self, channels: int, rate: int) -> None:
        super().__init__()
        half = channels // 2
        self.block = nn.ModuleList(
            (
                Snake1d(channels),
                StreamedConvTranspose1d(channels, half, 2 * rate, rate),
                *(ResidualUnit(half, dilation) for dilation in _DILATIONS),
            )
        )

    def forward(self, hidden: torch.Tensor, tails: Tails | None = None) -> torch.Tensor:
        """[B, channels, T] -> [B, channels / 2, T * rate]."""
        return _through(self.block, hidden, tails)


class RateCondition(nn.Module):
    """A scale and an offset a channel, out of a table by the sample rate that is wanted.

    Source: SampleRateConditionLayer, voxcpm 2.0.3.
    """

    def __init__(self, channels: int, boundaries: tuple[int, ...], sample_rate: int) -> None:
        super().__init__()
        self.scale_embed = ops.Embedding(len(boundaries) + 1, channels)
        self.bias_embed = ops.Embedding(len(boundaries) + 1, channels)
        self._row = bisect_left(boundaries, sample_rate)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, channels, T] -> the same shape."""
        return hidden * self.scale_embed.weight[self._row, :, None] + self.bias_embed.weight[self._row, :, None]


class AudioVaeEncoder(nn.Module):
    """Waveform -> the means of its latent frames.

    Source: AudioVAE.encode, voxcpm 2.0.3.
    """

    def __init__(self, config: AudioVaeConfig) -> None:
        super().__init__()
        self.config = config
        channels = config.encoder_dim
        stages = (
            DownStage(channels * 2**index, rate, config.pads_odd_strides)
            for index, rate in enumerate(config.encoder_rates)
        )
        self.block = nn.Sequential(CausalConv1d(1, channels, _KERNEL), *stages)
        self.fc_mu = CausalConv1d(channels * 2 ** len(config.encoder_rates), config.latent_dim, 3)

    def memory_units(self) -> list[str]:
        """Names of the submodules whose weights may move one by one."""
        return ["block.0", *_parts("block", self.block, DownStage), "fc_mu"]

    def forward(self, waveform: torch.Tensor) -> torch.Tensor:
        """[B, 1, T] at `sample_rate` -> [B, latent_dim, ceil(T / encode_hop)]."""
        hidden = F.pad(waveform, (0, -waveform.shape[-1] % self.config.encode_hop))
        for layer in self.block:
            hidden = layer(hidden)
        latent: torch.Tensor = self.fc_mu(hidden)
        return latent


class AudioVaeDecoder(nn.Module):
    """Latent frames -> waveform.

    Source: AudioVAE.decode and StreamingVAEDecoder, voxcpm 2.0.3.
    """

    def __init__(self, config: AudioVaeConfig) -> None:
        super().__init__()
        self.config = config
        latent, channels = config.latent_dim, config.decoder_dim
        last = channels // 2 ** len(config.decoder_rates)
        self.model = nn.ModuleList(
            (
                StreamedConv1d(latent, latent, _KERNEL, groups=latent),
                StreamedConv1d(latent, channels, 1),
                *(UpStage(channels // 2**index, rate) for index, rate in enumerate(config.decoder_rates)),
                Snake1d(last),
                StreamedConv1d(last, 1, _KERNEL),
            )
        )
        boundaries, sample_rate = config.rate_boundaries, config.out_sample_rate
        self.sr_cond_model = nn.ModuleDict(
            {
                str(index): RateCondition(channels // 2 ** (index - 2), boundaries, sample_rate)
                for index, stage in enumerate(self.model)
                if isinstance(stage, UpStage) and boundaries
            }
        )

    def memory_units(self) -> list[str]:
        """Names of the submodules whose weights may move one by one."""
        return ["model.0", "model.1", *_parts("model", self.model, UpStage), f"model.{len(self.model) - 1}"]

    def forward(self, latent: torch.Tensor, tails: Tails | None = None) -> torch.Tensor:
        """[B, latent_dim, T] -> [B, 1, T * decode_hop], -1..1.

        Args:
            latent: All frames, or the next ones of a stream.
            tails: Of this chunk of a stream; None for all frames at once. Streams differ in the last bits.
        """
        hidden = latent
        for index, layer in enumerate(self.model):
            if self.sr_cond_model and isinstance(layer, UpStage):
                hidden = self.sr_cond_model[str(index)](hidden)
            hidden = _through((layer,), hidden, tails)
        return torch.tanh(hidden)


def _through(layers: Iterable[nn.Module], hidden: torch.Tensor, tails: Tails | None) -> torch.Tensor:
    for layer in layers:
        hidden = layer(hidden) if isinstance(layer, Snake1d) else layer(hidden, tails)
    return hidden


def _parts(name: str, layers: Iterable[nn.Module], kind: type[DownStage] | type[UpStage]) -> list[str]:
    """Names of the convolutions and units in the stages among `layers`."""
    return [
        f"{name}.{index}.block.{part}"
        for index, stage in enumerate(layers)
        if isinstance(stage, kind)
        for part, inner in enumerate(stage.block)
        if not isinstance(inner, Snake1d)
    ]
