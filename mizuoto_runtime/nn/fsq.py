"""Finite scalar quantisation: numbers between -1 and 1, each rounded to one of a few levels."""

from __future__ import annotations

import torch
from torch import nn

from .. import ops


class ScalarQuantizer(nn.Module):
    """A projection to a few channels, the rounding of each to steps of `1 / scale`, and a projection back.

    Args:
        hidden_size: Channels outside.
        latent_size: Channels that are rounded.
        scale: Steps from 0 to 1.

    Source: ScalarQuantizationLayer, voxcpm 2.0.3.
    """

    def __init__(self, hidden_size: int, latent_size: int, scale: int) -> None:
        super().__init__()
        self.scale = scale
        self.in_proj = ops.Linear(hidden_size, latent_size)
        self.out_proj = ops.Linear(latent_size, hidden_size)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[..., hidden_size] -> the same shape."""
        latent = torch.tanh(self.in_proj(hidden))
        return self.out_proj(torch.round(latent * self.scale) / self.scale)
