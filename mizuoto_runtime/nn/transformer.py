"""The pre-norm transformer encoder layer, with all attention through `attention.attend`."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .. import ops
from ..attention import Site, attend


class SelfAttention(nn.Module):
    """Multi-head self-attention of a whole sequence; query, key and value come from one packed linear layer.

    Args:
        site: Name, heads and head width.
    """

    def __init__(self, site: Site) -> None:
        super().__init__()
        self.site = site
        hidden_size = site.num_heads * site.head_dim
        self.qkv = ops.Linear(hidden_size, 3 * hidden_size)
        self.out = ops.Linear(hidden_size, hidden_size)

    def forward(self, hidden: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """[B, T, hidden_size] -> the same shape; `mask` as in `attend`."""
        heads = self.qkv(hidden).unflatten(-1, (3, self.site.num_heads, self.site.head_dim))
        query, key, value = heads.permute(2, 0, 3, 1, 4)  # [B, H, T, D] each
        mixed = attend(query, key, value, site=self.site, mask=mask)
        return self.out(mixed.transpose(1, 2).flatten(2))


class EncoderLayer(nn.Module):
    """Self-attention and a GELU feed-forward network, each behind a layer norm and a residual.

    Args:
        site: Name, heads and head width of the attention.
        intermediate_size: Width of the feed-forward network.
        norm_eps: Epsilon of both norms.

    Source: `torch.nn.TransformerEncoderLayer` with `norm_first=True`, `activation="gelu"`, in eval mode.
    """

    def __init__(self, site: Site, intermediate_size: int, norm_eps: float = 1e-5) -> None:
        super().__init__()
        hidden_size = site.num_heads * site.head_dim
        self.attention_norm = ops.LayerNorm(hidden_size, eps=norm_eps)
        self.attention = SelfAttention(site)
        self.feed_forward_norm = ops.LayerNorm(hidden_size, eps=norm_eps)
        self.expand = ops.Linear(hidden_size, intermediate_size)
        self.project = ops.Linear(intermediate_size, hidden_size)

    def forward(self, hidden: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """[B, T, hidden_size] -> the same shape; `mask` as in `attend`."""
        hidden = hidden + self.attention(self.attention_norm(hidden), mask)
        return hidden + self.project(F.gelu(self.expand(self.feed_forward_norm(hidden))))
