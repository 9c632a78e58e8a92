"""The transformer of MiniCPM4, from embeddings to normed hidden states: with a cache a decoder, without one an encoder.

It differs from Qwen's in its rotary table (longrope, or none), in turning heads in float32, and in the scale that some
checkpoints put on every branch. Only layers are called as modules; see `qwen`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ..attention import Site, attend
from ..errors import ModelFileError
from ..loading.fields import mapping, positive
from ..nn.lora import AdaptableLinear
from ..nn.norm import RMSNorm
from .cache import KvCache, Step
from .qwen import GatedMlp, sequence_site
from .rope import Angles, Rope, rotated


@dataclass(frozen=True, slots=True)
class LongRope(Rope):
    """Rotary positions whose frequencies are divided by a factor each.

    Args:
        factors: head_dim / 2 of them.
        amplitude: Of cosines and sines.

    Source: MiniCPMLongRoPE, voxcpm 2.0.3.
    """

    factors: tuple[float, ...] = ()
    amplitude: float = 1.0

    @classmethod
    def from_json(cls, config: Mapping[str, Any], head_dim: int) -> LongRope:
        """The table that `lm_config` of a published `config.json` states.

        Raises:
            ModelFileError: A key is missing, or the factors are none for heads of this width.
        """
        scaling = mapping(config, "rope_scaling")
        trained = positive(scaling, "original_max_position_embeddings", int)
        longest = positive(config, "max_position_embeddings", int)
        key = "long_factor" if longest > trained else "short_factor"
        factors = scaling.get(key)
        if not isinstance(factors, list) or len(factors) != head_dim // 2 or not all(map(_is_factor, factors)):
            raise ModelFileError(f'The model\'s configuration has no "{key}" of {head_dim // 2} numbers above 0.')
        amplitude = 1 + math.log(longest / trained) / math.log(trained) if trained > 1 else 1.0
        return cls(
            head_dim,
            positive({"rope_theta": 10000.0, **config}, "rope_theta", float),
            torch.float32,
            tuple(map(float, factors)),
            math.sqrt(max(0.0, amplitude)),
        )

    def angles(self, positions: torch.Tensor) -> Angles:
        """See `rotary`; `dtype` is what the table is rounded to, and float32 what comes back."""
        device = positions.device
        exponents = torch.arange(0, self.head_dim, 2, device=device).float() / self.head_dim
        divided = positions[..., None, None].float() * (1.0 / torch.tensor(self.factors, device=device))
        angles = divided * (1.0 / self.theta**exponents)
        cos, sin = ((wave * self.amplitude).to(self.dtype).float() for wave in (angles.cos(), angles.sin()))
        return torch.cat((cos, cos), dim=-1), torch.cat((-sin, sin), dim=-1)


@dataclass(frozen=True, slots=True)
class MiniCpmConfig:
    """Shape of a transformer.

    Args:
        site: Name of its attention in reports, `engine:part`.
        hidden_size: Channels of a position.
        intermediate_size: Channels inside the feed-forward part.
        num_layers: Layers.
        num_heads: Query heads.
        num_kv_heads: Key and value heads.
        head_dim: Channels of a head.
        norm_eps: Added to every mean square.
        rope: Its rotary positions; None if it has none.
        branch_scale: Factor on the output of attention and feed-forward part (muP); None if there is none.
    """

    site: str
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    norm_eps: float
    rope: LongRope | None
    branch_scale: float | None = None

    @property
    def attention(self) -> Site:
        """The attention call that its layers share; raises what `sequence_site` raises."""
        return sequence_site(self.site, self.num_heads, self.head_dim, self.num_kv_heads)


@dataclass(frozen=True, slots=True)
class Pass:
    """What the layers share in one call.

    Args:
        shape: Batch and positions, B and T.
        step: Where the positions are and what they see.
        angles: Of their rotary embeddings, float32; None without.
        cache: Where each layer's keys and values go.
    """

    shape: tuple[int, int]
    step: Step
    angles: Angles | None
    cache: KvCache


class MiniCpm(nn.Module):
    """Layers and the last norm."""

    def __init__(self, config: MiniCpmConfig) -> None:
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList(MiniCpmLayer(config, index) for index in range(config.num_layers))
        self.norm = RMSNorm(config.hidden_size, config.norm_eps)

    def forward(self, embeddings: torch.Tensor, cache: KvCache) -> torch.Tensor:
        """Normed hidden states of the positions that follow those in `cache`, which gains them; [B, T, hidden_size].

        Source: MiniCPMModel.forward and forward_step, voxcpm 2.0.3.
        """
        batch, num_tokens, width = embeddings.shape
        step = cache.begin(num_tokens, embeddings.device)
        rope = self.config.rope
        angles = None if rope is None else cache.angles(step, _rounded(rope, embeddings.dtype))
        this = Pass((batch, num_tokens), step, angles, cache)
        hidden = embeddings.reshape(-1, width)  # a matrix product of two dimensions is dispatched in half the time
        for layer in self.layers:
            hidden = layer(hidden, this)
        cache.advance(num_tokens)
        return self.norm.forward(hidden).view(batch, num_tokens, width)


class MiniCpmLayer(nn.Module):
    """Attention and feed-forward, each behind a norm, scaled and added to its input."""

    def __init__(self, config: MiniCpmConfig, index: int) -> None:
        super().__init__()
        self.branch_scale = config.branch_scale
        self.self_attn = MiniCpmAttention(config, index)
        self.mlp = GatedMlp(config.hidden_size, config.intermediate_size)
        self.input_layernorm = RMSNorm(config.hidden_size, config.norm_eps)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, config.norm_eps)

    def forward(self, hidden: torch.Tensor, this: Pass) -> torch.Tensor:
        """`hidden` [B * T, hidden_size] after the layer."""
        hidden = hidden + self._scaled(self.self_attn.forward(self.input_layernorm.forward(hidden), this))
        return hidden + self._scaled(self.mlp.forward(self.post_attention_layernorm.forward(hidden)))

    def _scaled(self, branch: torch.Tensor) -> torch.Tensor:
        return branch if self.branch_scale is None else branch * self.branch_scale


class MiniCpmAttention(nn.Module):
    """Grouped-query attention over what the cache gives."""

    def __init__(self, config: MiniCpmConfig, index: int) -> None:
        super().__init__()
        self.index = index
        self.site = site = config.attention
        inner, kv_inner = site.num_heads * site.head_dim, site.kv_heads * site.head_dim
        self.q_proj = AdaptableLinear(config.hidden_size, inner, bias=False)
        self.k_proj = AdaptableLinear(config.hidden_size, kv_inner, bias=False)
        self.v_proj = AdaptableLinear(config.hidden_size, kv_inner, bias=False)
        self.o_proj = AdaptableLinear(inner, config.hidden_size, bias=False)

    def forward(self, hidden: torch.Tensor, this: Pass) -> torch.Tensor:
        """[B * T, hidden_size], like `hidden`."""
        per_head = (*this.shape, -1, self.site.head_dim)
        heads = torch.cat((self.q_proj.forward(hidden).view(per_head), self.k_proj.forward(hidden).view(per_head)), 2)
        value = self.v_proj.forward(hidden).view(per_head).transpose(1, 2)
        if this.angles is not None:
            heads = rotated(heads.float(), this.angles).to(hidden.dtype)
        query, key = heads.transpose(1, 2).split_with_sizes((self.site.num_heads, self.site.kv_heads), dim=1)
        keys, values = this.cache.update(self.index, key, value)
        attended = attend(query, keys, values, site=self.site, mask=this.step.mask, causal=this.step.causal)
        return self.o_proj.forward(attended.transpose(1, 2).reshape(hidden.shape[0], -1))


def _rounded(rope: LongRope, dtype: torch.dtype) -> LongRope:
    if rope.dtype == dtype:
        return rope
    return LongRope(rope.head_dim, rope.theta, dtype, rope.factors, rope.amplitude)


def _is_factor(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf
