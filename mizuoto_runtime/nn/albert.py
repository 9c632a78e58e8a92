"""ALBERT: one transformer layer, applied many times, over embeddings that are narrower than it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import nn

from .. import ops
from ..attention import Site, attend

NORM_EPS = 1e-12


@dataclass(frozen=True, slots=True)
class AlbertConfig:
    """Shape of an encoder.

    Attributes:
        vocab_size: Ids that it knows.
        hidden_size: Width of the layer.
        num_heads: Attention heads.
        intermediate_size: Width of the feed-forward network.
        num_passes: How often the layer is applied.
        max_positions: Longest sequence.
        embedding_size: Width of the embeddings.
    """

    vocab_size: int
    hidden_size: int
    num_heads: int
    intermediate_size: int
    num_passes: int
    max_positions: int
    embedding_size: int = 128


class AlbertEmbeddings(nn.Module):
    """Ids, positions and the one kind of text that there is, summed and normalised."""

    def __init__(self, config: AlbertConfig) -> None:
        super().__init__()
        size = config.embedding_size
        self.words = ops.Embedding(config.vocab_size, size)
        self.positions = ops.Embedding(config.max_positions, size)
        self.kinds = ops.Embedding(2, size)
        self.norm = ops.LayerNorm(size, eps=NORM_EPS)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """[1, T] -> [1, T, embedding_size]."""
        positions = torch.arange(ids.shape[1], device=ids.device)[None]
        summed = self.words(ids) + self.kinds(torch.zeros_like(ids))
        return self.norm(summed + self.positions(positions))


class AlbertLayer(nn.Module):
    """Self-attention and a feed-forward network, each followed by a residual and a norm."""

    def __init__(self, config: AlbertConfig, site_name: str) -> None:
        super().__init__()
        size = config.hidden_size
        self.site = Site(site_name, config.num_heads, size // config.num_heads)
        self.query, self.key, self.value, self.out = (ops.Linear(size, size) for _ in range(4))
        self.attention_norm = ops.LayerNorm(size, eps=NORM_EPS)
        self.expand = ops.Linear(size, config.intermediate_size)
        self.project = ops.Linear(config.intermediate_size, size)
        self.norm = ops.LayerNorm(size, eps=NORM_EPS)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[1, T, hidden_size] -> the same shape."""
        query, key, value = (self._heads(layer(hidden)) for layer in (self.query, self.key, self.value))
        mixed = attend(query, key, value, site=self.site).transpose(1, 2).flatten(2)
        hidden = self.attention_norm(hidden + self.out(mixed))
        return self.norm(self.project(gelu_new(self.expand(hidden))) + hidden)

    def _heads(self, hidden: torch.Tensor) -> torch.Tensor:
        return hidden.unflatten(-1, (self.site.num_heads, self.site.head_dim)).transpose(1, 2)  # [1, H, T, D]


class Albert(nn.Module):
    """Ids -> hidden states; whole sequences, one at a time.

    Args:
        config: Its shape.
        site_name: Names its attention.

    Source: AlbertModel, transformers 4.57.3, without pooling.
    """

    def __init__(self, config: AlbertConfig, site_name: str) -> None:
        super().__init__()
        self.num_passes = config.num_passes
        self.embeddings = AlbertEmbeddings(config)
        self.widen = ops.Linear(config.embedding_size, config.hidden_size)
        self.layer = AlbertLayer(config, site_name)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """[1, T] int64 -> [1, T, hidden_size]; T up to `max_positions`."""
        hidden = self.widen(self.embeddings(ids))
        for _ in range(self.num_passes):
            hidden = self.layer(hidden)
        return hidden


def gelu_new(hidden: torch.Tensor) -> torch.Tensor:
    """GELU by a hyperbolic tangent, as transformers spells it: `F.gelu(approximate="tanh")` has other bits."""
    inner = math.sqrt(2.0 / math.pi) * (hidden + 0.044715 * torch.pow(hidden, 3.0))
    return 0.5 * hidden * (1.0 + torch.tanh(inner))
