"""The one-dimensional ConvNeXt block of Vocos-like vocoders and light acoustic models."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .. import ops
from .conv import ChannelsLastConv1d


class ConvNeXtBlock(nn.Module):
    """Residual block: depthwise convolution, norm, expansion, GELU, projection, per-channel scale.

    Args:
        channels: Width of the residual stream.
        intermediate_size: Width between expansion and projection.
        kernel_size: Taps of the depthwise convolution, odd.
        dilation: Distance of the taps in time steps.
        norm_eps: Epsilon of the layer norm.
        has_gamma: Whether the branch is scaled by a learnt vector before it is added.
    """

    def __init__(
        self,
        channels: int,
        intermediate_size: int,
        kernel_size: int = 7,
        dilation: int = 1,
        norm_eps: float = 1e-6,
        has_gamma: bool = True,
    ) -> None:
        super().__init__()
        self.depthwise = ChannelsLastConv1d(channels, channels, kernel_size, dilation, depthwise=True)
        self.norm = ops.LayerNorm(channels, eps=norm_eps)
        self.expand = ops.Linear(channels, intermediate_size)
        self.project = ops.Linear(intermediate_size, channels)
        self.gamma = nn.Parameter(torch.empty(channels)) if has_gamma else None

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, T, channels] -> the same shape."""
        branch = self.norm(self.depthwise(hidden))
        branch = self.project(F.gelu(self.expand(branch)))
        return hidden + branch if self.gamma is None else torch.addcmul(hidden, self.gamma, branch)
