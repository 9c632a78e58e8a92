"""Vocos: a log-mel spectrogram to a waveform, through ConvNeXt blocks and an inverse Fourier transform."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from .. import ops
from .convnext import ConvNeXtBlock

KERNEL_SIZE = 7
_MAX_MAGNITUDE = 1e2
_NORM_EPS = 1e-6


@dataclass(frozen=True, slots=True)
class VocosConfig:
    """Shape of a vocoder.

    Attributes:
        num_mels: Bands that come in.
        hidden_size, intermediate_size: Outside and inside the blocks.
        num_layers: Number of blocks.
        n_fft, hop_length: Of the spectrum.
        is_centred: Whether the first frame is centred on the first sample ("center"), so that there is one hop less
            than frames, or on the middle of its hop ("same").
    """

    num_mels: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    n_fft: int = 1024
    hop_length: int = 256
    is_centred: bool = True


class Vocos(nn.Module):
    """Log-mel -> waveform.

    Source: VocosBackbone and ISTFTHead, vocos 0.1.0.
    """

    def __init__(self, config: VocosConfig) -> None:
        super().__init__()
        self.config = config
        size = config.hidden_size
        self.enter = ops.Conv1d(config.num_mels, size, KERNEL_SIZE, padding=KERNEL_SIZE // 2)
        self.norm = ops.LayerNorm(size, eps=_NORM_EPS)
        self.blocks = nn.ModuleList(
            ConvNeXtBlock(size, config.intermediate_size, KERNEL_SIZE, norm_eps=_NORM_EPS, is_exact=True)
            for _ in range(config.num_layers)
        )
        self.final_norm = ops.LayerNorm(size, eps=_NORM_EPS)
        self.out = ops.Linear(size, config.n_fft + 2)
        self.window = nn.Parameter(torch.empty(config.n_fft), requires_grad=False)

    @property
    def reach(self) -> int:
        """So many frames on either side, and no others, decide about the samples of a frame."""
        convolutions = (self.config.num_layers + 1) * (KERNEL_SIZE // 2)
        return convolutions + self.config.n_fft // self.config.hop_length

    def memory_units(self) -> list[str]:
        """Names of the submodules whose weights may move one by one."""
        return ["enter", *(f"blocks.{index}" for index in range(self.config.num_layers)), "out"]

    def forward(self, mel: torch.Tensor) -> torch.Tensor:
        """[B, num_mels, T] -> [B, samples]."""
        hidden = self.norm(self.enter(mel).transpose(1, 2))
        for block in self.blocks:
            hidden = block(hidden)
        magnitude, phase = self.out(self.final_norm(hidden)).transpose(1, 2).chunk(2, dim=1)
        magnitude = torch.exp(magnitude).clip_(max=_MAX_MAGNITUDE)
        # torch.polar rounds otherwise.
        return self._inverse(torch.complex(torch.cos(phase).mul_(magnitude), torch.sin(phase).mul_(magnitude)))

    def _inverse(self, spectrum: torch.Tensor) -> torch.Tensor:
        n_fft, hop_length = self.config.n_fft, self.config.hop_length
        if self.config.is_centred:
            return torch.istft(spectrum, n_fft, hop_length, n_fft, self.window, center=True)
        # Which cannot trim less than half a frame from the ends.
        frames = torch.fft.irfft(spectrum, n_fft, dim=1) * self.window[:, None]
        weights = self.window.square().expand(1, spectrum.shape[-1], -1).transpose(1, 2)
        return self._laid(frames) / self._laid(weights)

    def _laid(self, frames: torch.Tensor) -> torch.Tensor:
        """[B, n_fft, T] -> [B, T * hop_length], frames a hop apart and summed, the ends cut off."""
        n_fft, hop_length = self.config.n_fft, self.config.hop_length
        length, trim = (frames.shape[-1] - 1) * hop_length + n_fft, (n_fft - hop_length) // 2
        return F.fold(frames, (1, length), (1, n_fft), stride=(1, hop_length))[:, 0, 0, trim : length - trim]
