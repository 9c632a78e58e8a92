"""Convolution over time for tensors whose last dimension is the channels, the layout of norms and linears."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from .. import ops


class ChannelsLastConv1d(ops.Conv1d):
    """`Conv1d` of stride 1 with zero padding to the same length, [B, T, C_in] -> contiguous [B, T, C_out].

    Weights and numbers are `nn.Conv1d`'s; depthwise layers run several times faster on CPU, dilated ones above all.

    Args:
        in_channels: Input channels.
        out_channels: Output channels.
        kernel_size: Taps, odd.
        dilation: Distance of the taps in time steps.
        depthwise: Give every channel its own filter; `out_channels` must equal `in_channels`.

    Raises:
        ValueError: `kernel_size` is even.
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, dilation: int = 1, depthwise: bool = False
    ) -> None:
        if kernel_size % 2 == 0:
            raise ValueError(f"kernel_size must be odd to keep the length, got {kernel_size}")
        padding = kernel_size // 2 * dilation
        groups = in_channels if depthwise else 1
        super().__init__(in_channels, out_channels, kernel_size, padding=padding, dilation=dilation, groups=groups)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Filtered `hidden`."""
        if self.kernel_size == (1,) and self.groups == 1:
            return F.linear(hidden, self.weight.squeeze(-1), self.bias)
        if self.groups == 1:
            return super().forward(hidden.transpose(1, 2)).transpose(1, 2).contiguous()
        return self._depthwise(hidden)

    def _depthwise(self, hidden: torch.Tensor) -> torch.Tensor:
        # Rows of `dilation` steps make an image in which the taps of one filter stand below each other: a dense
        # channels-last convolution, which CPU libraries have a fast kernel for, and no element moves.
        batch, steps, channels = hidden.shape
        dilation = self.dilation[0]
        if missing := -steps % dilation:
            hidden = F.pad(hidden, (0, 0, 0, missing))
        image = hidden.reshape(batch, -1, dilation, channels).permute(0, 3, 1, 2)
        padding = (self.kernel_size[0] // 2, 0)
        out = F.conv2d(image, self.weight.unsqueeze(-1), self.bias, padding=padding, groups=channels)
        return out.permute(0, 2, 3, 1).reshape(batch, -1, channels)[:, :steps].contiguous()


class DepthwiseConv1d(ops.Conv1d):
    """`Conv1d` with a filter for every channel and zero padding to the same length, [B, T, C] -> [B, T, C].

    The bits are `nn.Conv1d`'s, which `ChannelsLastConv1d` gives up for speed.

    Args:
        channels: Number of channels.
        kernel_size: Taps, odd.
    """

    def __init__(self, channels: int, kernel_size: int) -> None:
        super().__init__(channels, channels, kernel_size, padding=kernel_size // 2, groups=channels)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Filtered `hidden`."""
        return super().forward(hidden.transpose(1, 2)).transpose(1, 2)
