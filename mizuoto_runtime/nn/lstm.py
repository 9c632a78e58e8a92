"""Encoders of phonemes that read a whole sequence in both directions, as in StyleTTS 2."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .. import ops
from .adain import AdaLayerNorm

_SLOPE = 0.2


class BiLstm(ops.LSTM):
    """One LSTM layer in both directions; its weights are read by one kernel and do not stream.

    Args:
        in_features: Width that comes.
        out_features: Width of the states of both directions together.
    """

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__(in_features, out_features // 2, batch_first=True, bidirectional=True)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        """[1, T, in_features] -> [1, T, out_features]."""
        states: torch.Tensor = super().forward(hidden)[0]
        return states


class ConvLayer(nn.Module):
    """A convolution, a norm over the channels, and a leaky ReLU."""

    def __init__(self, channels: int, kernel_size: int) -> None:
        super().__init__()
        self.conv = ops.Conv1d(channels, channels, kernel_size, padding=kernel_size // 2)
        self.norm = ops.LayerNorm(channels)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[1, channels, T] -> the same shape."""
        return F.leaky_relu_(self.norm(self.conv(hidden).transpose(1, 2)), _SLOPE).transpose(1, 2)


class ConvLstmEncoder(nn.Module):
    """Ids -> features: an embedding, convolutions, an LSTM.

    Args:
        vocab_size: Ids that it knows.
        channels: Width of everything.
        kernel_size: Taps of the convolutions, odd.
        num_layers: How many there are.

    Source: TextEncoder, kokoro 0.9.4.
    """

    def __init__(self, vocab_size: int, channels: int, kernel_size: int, num_layers: int) -> None:
        super().__init__()
        self.embedding = ops.Embedding(vocab_size, channels)
        self.convs = nn.ModuleList(ConvLayer(channels, kernel_size) for _ in range(num_layers))
        self.lstm = BiLstm(channels, channels)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """[1, T] int64 -> [1, T, channels]."""
        hidden = self.embedding(ids).transpose(1, 2)
        for layer in self.convs:
            hidden = layer(hidden)
        return self.lstm(hidden.transpose(1, 2))


class StyledLstmEncoder(nn.Module):
    """LSTMs with a styled norm behind each; the style is appended to every step of what each of them reads.

    Args:
        channels: Width without the style.
        style_size: Width of the style.
        num_layers: How many LSTMs there are.

    Source: DurationEncoder, kokoro 0.9.4.
    """

    def __init__(self, channels: int, style_size: int, num_layers: int) -> None:
        super().__init__()
        self.lstms = nn.ModuleList(BiLstm(channels + style_size, channels) for _ in range(num_layers))
        self.norms = nn.ModuleList(AdaLayerNorm(style_size, channels) for _ in range(num_layers))

    def forward(self, hidden: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
        """[1, T, channels], [1, style_size] -> [1, T, channels + style_size]."""
        steps = style[:, None].expand(-1, hidden.shape[1], -1)
        hidden = torch.cat((hidden, steps), dim=2)
        for lstm, norm in zip(self.lstms, self.norms, strict=True):
            hidden = torch.cat((norm(lstm(hidden), style), steps), dim=2)
        return hidden
