"""Layers that take their scale and shift from a style vector, as in StyleTTS 2."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import nn

from .. import ops

_SLOPE = 0.2
_INVERSE_SQRT_2 = 0.7071067690849304  # in float32: the next double has other bits in a product


def _scale_and_shift(layer: nn.Module, style: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """[1, channels] each."""
    gamma, beta = layer(style).chunk(2, dim=1)
    return 1 + gamma, beta


class AdaIN(nn.Module):
    """Instance norm over time, then scale and shift by the style.

    The mean is of the whole utterance: neither padding nor cutting leaves the values as they are.
    """

    def __init__(self, style_size: int, channels: int) -> None:
        super().__init__()
        self.fc = ops.Linear(style_size, 2 * channels)

    def forward(self, hidden: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
        """[1, channels, T], [1, style_size] -> a new tensor [1, channels, T]."""
        scale, shift = _scale_and_shift(self.fc, style)
        # Upstream's norm has a unit affine. It changes no value, but may choose another kernel.
        unit = hidden.new_ones(hidden.shape[1])
        normed = F.instance_norm(hidden, weight=unit, bias=torch.zeros_like(unit))
        return normed.mul_(scale[..., None]).add_(shift[..., None])


class AdaLayerNorm(nn.Module):
    """Layer norm over the channels, then scale and shift by the style."""

    def __init__(self, style_size: int, channels: int) -> None:
        super().__init__()
        self.fc = ops.Linear(style_size, 2 * channels)

    def forward(self, hidden: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
        """[1, T, channels], [1, style_size] -> a new tensor [1, T, channels]."""
        scale, shift = _scale_and_shift(self.fc, style)
        return F.layer_norm(hidden, hidden.shape[-1:]).mul_(scale[:, None]).add_(shift[:, None])


class AdaINBlock(nn.Module):
    """Two convolutions of three taps, each behind an `AdaIN`, and a shortcut around them.

    Args:
        in_channels: Channels that come.
        out_channels: Channels that go.
        style_size: Width of the style.
        upsample: Double the length.

    Source: AdainResBlk1d, kokoro 0.9.4.
    """

    def __init__(self, in_channels: int, out_channels: int, style_size: int, upsample: bool = False) -> None:
        super().__init__()
        self.conv1 = ops.Conv1d(in_channels, out_channels, 3, padding=1)
        self.conv2 = ops.Conv1d(out_channels, out_channels, 3, padding=1)
        self.norm1 = AdaIN(style_size, in_channels)
        self.norm2 = AdaIN(style_size, out_channels)
        self.shortcut = ops.Conv1d(in_channels, out_channels, 1, bias=False) if in_channels != out_channels else None
        self.pool = (
            ops.ConvTranspose1d(in_channels, in_channels, 3, stride=2, padding=1, output_padding=1, groups=in_channels)
            if upsample
            else None
        )

    def forward(self, hidden: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
        """[1, in_channels, T] -> [1, out_channels, T], or twice as long."""
        branch = F.leaky_relu_(self.norm1(hidden, style), _SLOPE)
        if self.pool is not None:
            branch = self.pool(branch)
            hidden = F.interpolate(hidden, scale_factor=2, mode="nearest")
        branch = self.conv1(branch)
        branch = self.conv2(F.leaky_relu_(self.norm2(branch, style), _SLOPE))
        if self.shortcut is not None:
            hidden = self.shortcut(hidden)
        return branch.add_(hidden).mul_(_INVERSE_SQRT_2)


class AdaINSnakeBlock(nn.Module):
    """Pairs of convolutions, the first of each dilated, each behind an `AdaIN` and a snake activation.

    Args:
        channels: In and out.
        kernel_size: Taps, odd.
        dilations: One a pair.
        style_size: Width of the style.

    Source: AdaINResBlock1, kokoro 0.9.4.
    """

    def __init__(self, channels: int, kernel_size: int, dilations: Sequence[int], style_size: int) -> None:
        super().__init__()

        def convs(steps: Sequence[int]) -> nn.ModuleList:
            return nn.ModuleList(
                ops.Conv1d(channels, channels, kernel_size, dilation=step, padding=(kernel_size - 1) * step // 2)
                for step in steps
            )

        def parameters() -> nn.ParameterList:
            return nn.ParameterList(nn.Parameter(torch.empty(1, channels, 1)) for _ in dilations)

        self.convs1, self.convs2 = convs(dilations), convs([1] * len(dilations))
        self.norms1, self.norms2 = (nn.ModuleList(AdaIN(style_size, channels) for _ in dilations) for _ in range(2))
        self.alphas1, self.alphas2 = parameters(), parameters()

    def forward(self, hidden: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
        """[1, channels, T] -> a new tensor of the same shape."""
        first = zip(self.convs1, self.norms1, self.alphas1, strict=True)
        second = zip(self.convs2, self.norms2, self.alphas2, strict=True)
        for (conv1, norm1, alpha1), (conv2, norm2, alpha2) in zip(first, second, strict=True):
            branch = conv1(_snake_(norm1(hidden, style), alpha1))
            branch = conv2(_snake_(norm2(branch, style), alpha2))
            hidden = branch.add_(hidden)
        return hidden


def _snake_(hidden: torch.Tensor, alpha: torch.Tensor) -> torch.Tensor:
    """`x + sin(a x)^2 / a`, in place; the factor 1 / a comes first, as a quotient has other bits."""
    wave = (alpha * hidden).sin_().square_().mul_(1 / alpha)
    return hidden.add_(wave)
