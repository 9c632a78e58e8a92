"""The text encoder that talker and decoder each have one of."""

from __future__ import annotations

import torch
from torch import nn

from ...mizuoto_runtime import ops
from ...mizuoto_runtime.attention import Site
from ...mizuoto_runtime.nn.convnext import ConvNeXtBlock
from ...mizuoto_runtime.nn.transformer import EncoderLayer
from .config import NORM_EPS, TextEncoderConfig


class TextEncoder(nn.Module):
    """Phoneme ids -> one vector a phoneme.

    Args:
        config: Sizes.
        site_name: Names the attention of this encoder.
    """

    def __init__(self, config: TextEncoderConfig, site_name: str) -> None:
        super().__init__()
        size = config.hidden_size
        self.num_passes = config.num_passes
        self.embedding = ops.Embedding(config.vocab_size, size)
        self.convs = nn.ModuleList(
            ConvNeXtBlock(size, config.intermediate_size, config.kernel_size, norm_eps=NORM_EPS)
            for _ in range(config.num_conv_blocks)
        )
        site = Site(site_name, config.num_heads, size // config.num_heads)
        self.layer = EncoderLayer(site, config.intermediate_size, NORM_EPS)
        self.norm = ops.LayerNorm(size, eps=NORM_EPS)

    def forward(self, text_ids: torch.Tensor) -> torch.Tensor:
        """[B, T] int64 -> [B, T, hidden_size]."""
        hidden = self.embedding(text_ids)
        for block in self.convs:
            hidden = block(hidden)
        for _ in range(self.num_passes):
            hidden = self.layer(hidden)
        return self.norm(hidden)


def stretch(hidden: torch.Tensor, durations: torch.Tensor, factor: int = 1) -> torch.Tensor:
    """Each step of `hidden` repeated as often as its duration says, times `factor`.

    Args:
        hidden: [1, T, C].
        durations: [1, T] int64.
        factor: Frames per duration frame.

    Returns:
        [1, sum(durations) * factor, C].
    """
    return hidden.repeat_interleave(durations[0] * factor, dim=1)
