"""Periodic activations of audio decoders."""

from __future__ import annotations

import torch
from torch import nn

_EPS = 1e-9


class SnakeBeta(nn.Module):
    """`x + sin(a x)^2 / b` with a frequency and a magnitude a channel, both stored as logarithms.

    Args:
        channels: Of [B, channels, T].

    Source: SnakeBeta, qwen_tts 0.1.1 (after BigVGAN).
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.empty(channels))
        self.beta = nn.Parameter(torch.empty(channels))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, channels, T] -> the same shape."""
        frequency = self.alpha.exp().unsqueeze(-1)
        magnitude = 1.0 / (self.beta.exp().unsqueeze(-1) + _EPS)
        # In place: at the audio rate each of these is the largest tensor of a decoder.
        return (hidden * frequency).sin_().square_().mul_(magnitude).add_(hidden)


class Snake1d(nn.Module):
    """`x + sin(a x)^2 / a` with one slope a channel, stored as it is.

    Args:
        channels: Of [B, channels, T].

    Source: Snake1d of the Descript codec: voxcpm 2.0.3 modules/audiovae, DacModel of transformers 4.57.3.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.empty(1, channels, 1))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, channels, T] -> the same shape."""
        return (self.alpha * hidden).sin_().square_().mul_((self.alpha + _EPS).reciprocal()).add_(hidden)
