"""The pre-norm transformer layer of Mimi-like codecs: rotary self-attention, and a learnt scale on both branches."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .. import ops
from ..attention import Site, attend
from ..lm.rope import Angles, rotated


class RotaryAttention(nn.Module):
    """Causal self-attention of a whole sequence with rotary positions, without biases.

    Args:
        hidden_size: Width of the residual stream.
        site: Name, heads and head width.
    """

    def __init__(self, hidden_size: int, site: Site) -> None:
        super().__init__()
        self.site = site
        self.q_proj = ops.Linear(hidden_size, site.num_heads * site.head_dim, bias=False)
        self.k_proj = ops.Linear(hidden_size, site.kv_heads * site.head_dim, bias=False)
        self.v_proj = ops.Linear(hidden_size, site.kv_heads * site.head_dim, bias=False)
        self.o_proj = ops.Linear(site.num_heads * site.head_dim, hidden_size, bias=False)

    def forward(self, hidden: torch.Tensor, angles: Angles, mask: torch.Tensor | None = None) -> torch.Tensor:
        """[B, T, hidden_size] -> the same shape.

        Args:
            hidden: The sequence.
            angles: Of its positions, from `lm.rope.rotary`.
            mask: As in `attend`; None is the full causal mask.
        """
        query, key, value = (
            projection(hidden).unflatten(-1, (-1, self.site.head_dim))  # [B, T, H, D]
            for projection in (self.q_proj, self.k_proj, self.v_proj)
        )
        query, key, value = (heads.transpose(1, 2) for heads in (rotated(query, angles), rotated(key, angles), value))
        mixed = attend(query, key, value, site=self.site, mask=mask, causal=mask is None)
        return self.o_proj(mixed.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    """Two linear layers without biases around a GELU."""

    def __init__(self, hidden_size: int, intermediate_size: int) -> None:
        super().__init__()
        self.expand = ops.Linear(hidden_size, intermediate_size, bias=False)
        self.project = ops.Linear(intermediate_size, hidden_size, bias=False)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[..., hidden_size] -> the same shape."""
        return self.project(F.gelu(self.expand(hidden)))


class ScaledLayer(nn.Module):
    """Attention and feed-forward network, each behind a norm, scaled a channel and added to the stream.

    Args:
        hidden_size: Width of the stream.
        attention_norm: Norm before the attention.
        attention: The attention.
        feed_forward_norm: Norm before the feed-forward network.
        feed_forward: The feed-forward network.

    Source: MimiTransformerLayer, transformers 4.57.3; Qwen3TTSTokenizerV2DecoderTransformerLayer, qwen_tts 0.1.1.
    """

    def __init__(
        self,
        hidden_size: int,
        attention_norm: nn.Module,
        attention: RotaryAttention,
        feed_forward_norm: nn.Module,
        feed_forward: nn.Module,
    ) -> None:
        super().__init__()
        self.attention_norm = attention_norm
        self.attention = attention
        self.attention_scale = nn.Parameter(torch.empty(hidden_size))
        self.feed_forward_norm = feed_forward_norm
        self.feed_forward = feed_forward
        self.feed_forward_scale = nn.Parameter(torch.empty(hidden_size))

    def forward(self, hidden: torch.Tensor, angles: Angles, mask: torch.Tensor | None = None) -> torch.Tensor:
        """[B, T, hidden_size] -> the same shape; arguments as of `RotaryAttention`."""
        hidden = hidden + self.attention_scale * self.attention(self.attention_norm(hidden), angles, mask)
        return hidden + self.feed_forward_scale * self.feed_forward(self.feed_forward_norm(hidden))
