"""iSTFTNet with a style and a harmonic source: features to a short-time spectrum, and that to a waveform."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from torch import nn

from .. import ops
from .adain import AdaINSnakeBlock
from .nsf import HarmonicSource

_SOURCE_DILATIONS = (1, 3, 5)
_SOURCE_KERNELS = (7, 11)  # of the blocks that the source passes: before the last stage, and at the last


@dataclass(frozen=True, slots=True)
class IstftNetConfig:
    """Shape of a vocoder; names as in StyleTTS 2's configurations but for the usual ones.

    Attributes:
        channels: That come; every stage halves them.
        upsample_rates, upsample_kernels: Of the stages.
        block_kernels, block_dilations: Of the residual blocks in every stage.
        n_fft, hop_length: Of the spectrum.
        style_size: Width of the style.
        sample_rate: In Hz.
    """

    channels: int
    upsample_rates: tuple[int, ...]
    upsample_kernels: tuple[int, ...]
    block_kernels: tuple[int, ...]
    block_dilations: tuple[tuple[int, ...], ...]
    n_fft: int
    hop_length: int
    style_size: int
    sample_rate: int = 24000

    @property
    def samples_per_frame(self) -> int:
        """Samples made of one frame of features, which has one value of the pitch."""
        return math.prod(self.upsample_rates) * self.hop_length


def _go_on() -> None:
    """Nobody wants to stop it."""


class UpsampleStage(nn.Module):
    """A transposed convolution, the source added at the new rate, and the mean of several residual blocks.

    Args:
        config: Of the vocoder.
        index: Number of the stage.
    """

    def __init__(self, config: IstftNetConfig, index: int) -> None:
        super().__init__()
        rate, kernel = config.upsample_rates[index], config.upsample_kernels[index]
        before, channels = config.channels >> index, config.channels >> (index + 1)
        self.is_last = index + 1 == len(config.upsample_rates)
        # The source has the rate of the last stage; earlier ones see it in steps.
        step = math.prod(config.upsample_rates[index + 1 :])
        source = (1, 1, 0) if self.is_last else (2 * step, step, (step + 1) // 2)
        self.up = ops.ConvTranspose1d(before, channels, kernel, rate, padding=(kernel - rate) // 2)
        self.source_conv = ops.Conv1d(config.n_fft + 2, channels, *source)
        self.source_block = AdaINSnakeBlock(
            channels, _SOURCE_KERNELS[self.is_last], _SOURCE_DILATIONS, config.style_size
        )
        self.blocks = nn.ModuleList(
            AdaINSnakeBlock(channels, size, dilations, config.style_size)
            for size, dilations in zip(config.block_kernels, config.block_dilations, strict=True)
        )

    def memory_units(self) -> list[str]:
        """Names of the submodules whose weights may move one by one."""
        return ["up", "source_conv", "source_block", *(f"blocks.{index}" for index in range(len(self.blocks)))]

    def forward(
        self, hidden: torch.Tensor, style: torch.Tensor, source: torch.Tensor, on_block: Callable[[], None] = _go_on
    ) -> torch.Tensor:
        """[1, channels, T] -> [1, channels / 2, T * rate], one longer in the last stage; `hidden` is overwritten."""
        on_block()
        side = self.source_block(self.source_conv(source), style)
        hidden = self.up(F.leaky_relu_(hidden, 0.1))
        if self.is_last:
            hidden = F.pad(hidden, (1, 0), mode="reflect")
        hidden = side.add_(hidden)
        total: torch.Tensor | None = None
        for block in self.blocks:
            on_block()
            one = block(hidden, style)
            total = one if total is None else total.add_(one)
        assert total is not None
        return total.div_(len(self.blocks))


class IstftNet(nn.Module):
    """Features, style, pitch and noise -> waveform, one utterance at a time.

    Source: Generator, kokoro 0.9.4.
    """

    def __init__(self, config: IstftNetConfig) -> None:
        super().__init__()
        self.config = config
        self.source = HarmonicSource(config.sample_rate, config.samples_per_frame)
        self.stages = nn.ModuleList(UpsampleStage(config, index) for index in range(len(config.upsample_rates)))
        channels = config.channels >> len(config.upsample_rates)
        self.conv_post = ops.Conv1d(channels, config.n_fft + 2, 7, padding=3)

    def memory_units(self) -> list[str]:
        """Names of the submodules whose weights may move one by one."""
        stages = (cast(UpsampleStage, stage).memory_units() for stage in self.stages)
        return [*(f"stages.{index}.{unit}" for index, units in enumerate(stages) for unit in units), "conv_post"]

    def forward(
        self,
        hidden: torch.Tensor,
        style: torch.Tensor,
        f0: torch.Tensor,
        noise: torch.Tensor,
        on_block: Callable[[], None] = _go_on,
    ) -> torch.Tensor:
        """[1, channels, F], [1, style_size], [1, F] Hz, `draw_noise` -> [1, F * samples_per_frame].

        `hidden` is overwritten. `on_block` is called before every block, and may raise to stop.
        """
        source = self._analysed(self.source(f0, noise))
        for stage in self.stages:
            hidden = stage(hidden, style, source, on_block)
        return self._synthesised(self.conv_post(F.leaky_relu_(hidden)))

    def _analysed(self, waveform: torch.Tensor) -> torch.Tensor:
        """[1, T] -> magnitudes and angles, [1, n_fft + 2, frames]."""
        n_fft, hop_length = self.config.n_fft, self.config.hop_length
        spectrum = torch.stft(waveform, n_fft, hop_length, window=self._window(waveform), return_complex=True)
        return torch.cat((spectrum.abs(), spectrum.angle()), dim=1)

    def _synthesised(self, features: torch.Tensor) -> torch.Tensor:
        n_fft, hop_length = self.config.n_fft, self.config.hop_length
        log_magnitude, angle = features.split(n_fft // 2 + 1, dim=1)
        spectrum = torch.exp(log_magnitude) * torch.exp(torch.sin(angle) * 1j)
        return torch.istft(spectrum, n_fft, hop_length, window=self._window(features))

    def _window(self, like: torch.Tensor) -> torch.Tensor:
        return torch.hann_window(self.config.n_fft, device="cpu").to(like.device)
