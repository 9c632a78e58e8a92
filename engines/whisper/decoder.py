"""The decoder: tokens and the features of a window to scores of what follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import nn

from ...mizuoto_runtime import ops
from ...mizuoto_runtime.attention import Site, attend
from ...mizuoto_runtime.lm.cache import GrowingCache, Step
from .config import WhisperConfig


@dataclass(slots=True)
class Hearing:
    """One window as the decoder hears it; its keys and values are made when a layer first needs them.

    Attributes:
        features: [1, 1500, hidden_size].
        keys_values: Layer -> keys and values, [1, H, 1500, D] each.
        watched: Layer -> its attention scores over the window before the softmax, float32 [H, T, 1500], of the last
            step; only for the layers that are there.
    """

    features: torch.Tensor
    keys_values: dict[int, tuple[torch.Tensor, torch.Tensor]] = field(default_factory=dict)
    watched: dict[int, torch.Tensor | None] = field(default_factory=dict)


class CachedAttention(nn.Module):
    """Causal self-attention over the cached past; query, key and value come from one packed linear layer."""

    def __init__(self, site: Site) -> None:
        super().__init__()
        self.site = site
        hidden_size = site.num_heads * site.head_dim
        self.qkv = ops.Linear(hidden_size, 3 * hidden_size)
        self.out = ops.Linear(hidden_size, hidden_size)

    def forward(self, hidden: torch.Tensor, layer: int, step: Step, cache: GrowingCache) -> torch.Tensor:
        """[B, T, hidden_size] -> the same shape."""
        heads = self.qkv(hidden).unflatten(-1, (3, self.site.num_heads, self.site.head_dim))
        query, key, value = heads.permute(2, 0, 3, 1, 4)  # [B, H, T, D] each
        key, value = cache.update(layer, key, value)
        mixed = attend(query, key, value, site=self.site, mask=step.mask, causal=step.causal)
        return self.out(mixed.transpose(1, 2).flatten(2))


class CrossAttention(nn.Module):
    """Attention over the features of a window."""

    def __init__(self, site: Site) -> None:
        super().__init__()
        self.site = site
        hidden_size = site.num_heads * site.head_dim
        self.query = ops.Linear(hidden_size, hidden_size)
        self.key_value = ops.Linear(hidden_size, 2 * hidden_size)
        self.out = ops.Linear(hidden_size, hidden_size)

    def forward(self, hidden: torch.Tensor, layer: int, hearing: Hearing) -> torch.Tensor:
        """[B, T, hidden_size] -> the same shape."""
        num_rows = hidden.shape[0]
        if layer not in hearing.keys_values:
            hearing.keys_values[layer] = self._keys_values(hearing.features)
        key, value = hearing.keys_values[layer]
        # All rows hear the same window: their positions are those of one row, and the window is read once.
        query = self._heads(self.query(hidden).flatten(0, 1)[None])
        if layer in hearing.watched:
            hearing.watched[layer] = _scores(query, key)
        mixed = attend(query, key, value, site=self.site)
        return self.out(mixed.transpose(1, 2).flatten(2).unflatten(1, (num_rows, -1))[0])

    def _keys_values(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        key, value = self.key_value(features).chunk(2, -1)
        return self._heads(key).contiguous(), self._heads(value).contiguous()  # read once a token

    def _heads(self, hidden: torch.Tensor) -> torch.Tensor:
        return hidden.unflatten(-1, (self.site.num_heads, self.site.head_dim)).transpose(1, 2)


def _scores(query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """Source: MultiHeadAttention.qkv_attention without SDPA, openai-whisper 20250625 model.py."""
    scale: float = query.shape[-1] ** -0.25
    return ((query * scale) @ (key * scale).transpose(-1, -2))[0].float()


class DecoderLayer(nn.Module):
    """Self-attention, attention over the window and a GELU feed-forward network, each behind a norm."""

    def __init__(self, config: WhisperConfig) -> None:
        super().__init__()
        size, heads = config.hidden_size, config.decoder_heads
        head_dim = size // heads
        self.attention_norm = ops.LayerNorm(size)
        self.attention = CachedAttention(Site("whisper:decoder", heads, head_dim, is_sequence=True))
        self.cross_norm = ops.LayerNorm(size)
        self.cross = CrossAttention(Site("whisper:cross", heads, head_dim, is_sequence=True))
        self.feed_forward_norm = ops.LayerNorm(size)
        self.expand = ops.Linear(size, config.decoder_size)
        self.project = ops.Linear(config.decoder_size, size)

    def forward(
        self, hidden: torch.Tensor, layer: int, step: Step, cache: GrowingCache, hearing: Hearing
    ) -> torch.Tensor:
        """[B, T, hidden_size] -> the same shape."""
        hidden = hidden + self.attention(self.attention_norm(hidden), layer, step, cache)
        hidden = hidden + self.cross(self.cross_norm(hidden), layer, hearing)
        return hidden + self.project(F.gelu(self.expand(self.feed_forward_norm(hidden))))


class Decoder(nn.Module):
    """Tokens to scores, with the embedding as the last layer, too.

    Source: TextDecoder, openai-whisper 20250625; WhisperDecoder, transformers 4.57.3.
    """

    def __init__(self, config: WhisperConfig) -> None:
        super().__init__()
        self.config = config
        self.token_embedding = ops.Embedding(config.vocab_size, config.hidden_size)
        self.positions = ops.Embedding(config.max_positions, config.hidden_size)
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.norm = ops.LayerNorm(config.hidden_size)

    def memory_units(self) -> list[str]:
        """What streams one after the other; read by `memory.units`."""
        return [f"layers.{index}" for index in range(len(self.layers))]

    def forward(self, tokens: torch.Tensor, cache: GrowingCache, hearing: Hearing) -> torch.Tensor:
        """int64 [B, T] behind what is cached -> float32 [B, T, vocab_size]."""
        count = tokens.shape[1]
        step = cache.begin(count, tokens.device)
        hidden = self.token_embedding(tokens) + self.positions.weight[cache.length : cache.length + count]
        for index, layer in enumerate(self.layers):
            hidden = layer(hidden, index, step, cache, hearing)
        cache.advance(count)
        return F.linear(self.norm(hidden), self.token_embedding.weight).float()


class WindowState:
    """One attempt at a window; implements `DecoderState`."""

    def __init__(self, decoder: Decoder, hearing: Hearing, rows: int) -> None:
        self._decoder = decoder
        self._hearing = hearing
        self._rows = rows
        self._cache = GrowingCache(reserve=decoder.config.max_positions)

    def logits(self, tokens: torch.Tensor) -> torch.Tensor:
        """See `DecoderState.logits`; one row of tokens stands for all of them."""
        device = self._hearing.features.device
        logits: torch.Tensor = self._decoder(tokens.to(device).expand(self._rows, -1), self._cache, self._hearing)
        return logits

    def reorder(self, rows: Sequence[int]) -> None:
        """See `DecoderState.reorder`."""
        if list(rows) != list(range(self._rows)):
            self._cache.reorder(torch.tensor(rows, device=self._hearing.features.device))
            self._rows = len(rows)


def alignment_scores(
    decoder: Decoder, features: torch.Tensor, tokens: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """What the alignment heads look at, and logits; see `WhisperModel.cross_attention`."""
    heads = decoder.config.alignment_heads
    hearing = Hearing(features, watched=dict.fromkeys(layer for layer, _ in heads))
    logits = decoder(tokens.to(features.device)[None], GrowingCache(), hearing)[0]
    scores = [found[head] for layer, head in heads if (found := hearing.watched[layer]) is not None]
    return torch.stack(scores), logits
