"""One-dimensional ConvNeXt blocks: of Vocos-like vocoders and light acoustic models, and V2 of text encoders."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .. import ops
from .conv import ChannelsLastConv1d, DepthwiseConv1d


class ConvNeXtBlock(nn.Module):
    """Residual block: depthwise convolution, norm, expansion, GELU, projection, per-channel scale.

    Args:
        channels: Width of the residual stream.
        intermediate_size: Width between expansion and projection.
        kernel_size: Taps of the depthwise convolution, odd.
        dilation: Distance of the taps in time steps.
        norm_eps: Epsilon of the layer norm.
        has_gamma: Whether the branch is scaled by a learnt vector before it is added.
        is_exact: Round like ConvNeXtBlock of vocos 0.1.0, which has no dilation; else as is fastest on a CPU.
    """

    def __init__(
        self,
        channels: int,
        intermediate_size: int,
        kernel_size: int = 7,
        dilation: int = 1,
        norm_eps: float = 1e-6,
        has_gamma: bool = True,
        is_exact: bool = False,
    ) -> None:
        super().__init__()
        self._is_exact = is_exact
        self.depthwise: nn.Module = (
            DepthwiseConv1d(channels, kernel_size)
            if is_exact
            else ChannelsLastConv1d(channels, channels, kernel_size, dilation, depthwise=True)
        )
        self.norm = ops.LayerNorm(channels, eps=norm_eps)
        self.expand = ops.Linear(channels, intermediate_size)
        self.project = ops.Linear(intermediate_size, channels)
        self.gamma = nn.Parameter(torch.empty(channels)) if has_gamma else None

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, T, channels] -> the same shape."""
        branch = self.norm(self.depthwise(hidden))
        branch = self.project(F.gelu(self.expand(branch)))
        if self.gamma is None:
            return hidden + branch
        if self._is_exact:
            return branch.mul_(self.gamma).add_(hidden)
        return torch.addcmul(hidden, self.gamma, branch)


class ResponseNorm(nn.Module):
    """Energy of each channel over the whole sequence, relative to the mean channel (GRN).

    Source: GRN, f5-tts 1.1.22.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.empty(1, 1, channels))
        self.beta = nn.Parameter(torch.empty(1, 1, channels))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, T, channels] -> the same shape."""
        energy = torch.linalg.vector_norm(hidden, dim=1, keepdim=True)
        relative = energy / (energy.mean(dim=-1, keepdim=True) + 1e-6)
        return (hidden * relative).mul_(self.gamma).add_(self.beta).add_(hidden)


class ConvNeXtV2Block(nn.Module):
    """Residual block: depthwise convolution, norm, expansion, GELU, response norm, projection.

    Source: ConvNeXtV2Block, f5-tts 1.1.22.
    """

    def __init__(self, channels: int, intermediate_size: int, kernel_size: int = 7, norm_eps: float = 1e-6) -> None:
        super().__init__()
        self.depthwise = DepthwiseConv1d(channels, kernel_size)
        self.norm = ops.LayerNorm(channels, eps=norm_eps)
        self.expand = ops.Linear(channels, intermediate_size)
        self.response = ResponseNorm(intermediate_size)
        self.project = ops.Linear(intermediate_size, channels)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, T, channels] -> the same shape."""
        branch = F.gelu(self.expand(self.norm(self.depthwise(hidden))))
        return self.project(self.response(branch)).add_(hidden)
