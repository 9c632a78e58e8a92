"""The decoder of Qwen2 and Qwen3, from embeddings to normed hidden states; heads and embeddings belong to the engines.

Modules are named as in the official checkpoints, and none reads the weight of another, so layers can be streamed. Only
layers are called as modules, and so only they can have hooks: inside of them `forward` is called by its name, which
saves a small model a tenth of every step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from .. import ops
from ..attention import Site, attend
from ..errors import ModelFileError
from ..loading.fields import positive
from ..nn.norm import RMSNorm
from .cache import KvCache, Step
from .rope import Angles, Rope, rotated

_PLAIN_ROPE = ("default", "mrope")  # mrope with equal position streams is plain rope


def sequence_site(name: str, num_heads: int, head_dim: int, num_kv_heads: int) -> Site:
    """The attention call of a decoder whose checkpoint states these numbers.

    Raises:
        ModelFileError: The query heads cannot share the key heads.
    """
    try:
        return Site(name, num_heads, head_dim, num_kv_heads, is_sequence=True)
    except ValueError as error:
        raise ModelFileError(f"The model's configuration cannot be: {error}.") from error


@dataclass(frozen=True, slots=True)
class QwenConfig:
    """Shape of a decoder.

    Args:
        site: Name of its attention in reports, `engine:part`.
        hidden_size: Channels of a position.
        intermediate_size: Channels inside the feed-forward part.
        num_layers: Layers.
        num_heads: Query heads.
        num_kv_heads: Key and value heads.
        head_dim: Channels of a head; `num_heads * head_dim` may differ from `hidden_size`.
        rope_theta: Base of the rotary frequencies.
        norm_eps: Added to every mean square.
        has_qk_norm: Queries and keys are normed a head (Qwen3).
        has_qkv_bias: Query, key and value projections have a bias (Qwen2).
    """

    site: str
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    rope_theta: float
    norm_eps: float
    has_qk_norm: bool = True
    has_qkv_bias: bool = False

    @classmethod
    def from_json(
        cls, config: Mapping[str, Any], site: str, *, has_qk_norm: bool = True, has_qkv_bias: bool = False
    ) -> QwenConfig:
        """The shape that a published `config.json` states.

        Raises:
            ModelFileError: A key is missing or of another kind, or the model needs what this decoder does not compute.
        """
        _refuse_others(config)
        hidden_size = positive(config, "hidden_size", int)
        num_heads = positive(config, "num_attention_heads", int)
        return cls(
            site=site,
            hidden_size=hidden_size,
            intermediate_size=positive(config, "intermediate_size", int),
            num_layers=positive(config, "num_hidden_layers", int),
            num_heads=num_heads,
            num_kv_heads=positive(config, "num_key_value_heads", int),
            head_dim=positive(config, "head_dim", int) if config.get("head_dim") else hidden_size // num_heads,
            rope_theta=positive({**_rope(config), **config}, "rope_theta", float),
            norm_eps=positive(config, "rms_norm_eps", float),
            has_qk_norm=has_qk_norm,
            has_qkv_bias=has_qkv_bias,
        )

    @property
    def attention(self) -> Site:
        """The attention call that its layers share; raises what `sequence_site` raises."""
        return sequence_site(self.site, self.num_heads, self.head_dim, self.num_kv_heads)


@dataclass(frozen=True, slots=True)
class Pass:
    """What the layers share in one call of the decoder.

    Args:
        shape: Batch and positions, B and T.
        step: Where the positions are and what they see.
        angles: Of their rotary embeddings.
        cache: Where each layer's keys and values go.
    """

    shape: tuple[int, int]
    step: Step
    angles: Angles
    cache: KvCache


class QwenDecoder(nn.Module):
    """Decoder layers and the last norm."""

    def __init__(self, config: QwenConfig) -> None:
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList(QwenLayer(config, index) for index in range(config.num_layers))
        self.norm = RMSNorm(config.hidden_size, config.norm_eps)

    def forward(self, embeddings: torch.Tensor, cache: KvCache) -> torch.Tensor:
        """Normed hidden states of the positions that follow those in `cache`, which gains them.

        Args:
            embeddings: [B, T, hidden_size].
            cache: Of this generation; what it says of padding holds.

        Source: Qwen3Model.forward, Qwen2Model.forward, transformers 4.57.3 with sdpa.
        """
        batch, num_tokens, width = embeddings.shape
        step = cache.begin(num_tokens, embeddings.device)
        angles = cache.angles(step, Rope(self.config.head_dim, self.config.rope_theta, embeddings.dtype))
        this = Pass((batch, num_tokens), step, angles, cache)
        hidden = embeddings.reshape(-1, width)  # a matrix product of two dimensions is dispatched in half the time
        for layer in self.layers:
            hidden = layer(hidden, this)
        cache.advance(num_tokens)
        return self.norm(hidden).view(batch, num_tokens, width)


class QwenLayer(nn.Module):
    """Attention and feed-forward, each behind a norm and added to its input."""

    def __init__(self, config: QwenConfig, index: int) -> None:
        super().__init__()
        self.self_attn = QwenAttention(config, index)
        self.mlp = GatedMlp(config.hidden_size, config.intermediate_size)
        self.input_layernorm = RMSNorm(config.hidden_size, config.norm_eps)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, config.norm_eps)

    def forward(self, hidden: torch.Tensor, this: Pass) -> torch.Tensor:
        """`hidden` [B * T, hidden_size] after the layer."""
        hidden = hidden + self.self_attn.forward(self.input_layernorm.forward(hidden), this)
        return hidden + self.mlp.forward(self.post_attention_layernorm.forward(hidden))


class QwenAttention(nn.Module):
    """Grouped-query attention over the cache, with rotary positions."""

    def __init__(self, config: QwenConfig, index: int) -> None:
        super().__init__()
        self.index = index
        self.site = site = config.attention
        inner, kv_inner = site.num_heads * site.head_dim, site.kv_heads * site.head_dim
        self.q_proj = ops.Linear(config.hidden_size, inner, bias=config.has_qkv_bias)
        self.k_proj = ops.Linear(config.hidden_size, kv_inner, bias=config.has_qkv_bias)
        self.v_proj = ops.Linear(config.hidden_size, kv_inner, bias=config.has_qkv_bias)
        self.o_proj = ops.Linear(inner, config.hidden_size, bias=False)
        self.q_norm = RMSNorm(site.head_dim, config.norm_eps) if config.has_qk_norm else None
        self.k_norm = RMSNorm(site.head_dim, config.norm_eps) if config.has_qk_norm else None

    def forward(self, hidden: torch.Tensor, this: Pass) -> torch.Tensor:
        """[B * T, hidden_size], like `hidden`."""
        per_head = (*this.shape, -1, self.site.head_dim)
        query = self.q_proj.forward(hidden).view(per_head)
        key = self.k_proj.forward(hidden).view(per_head)
        value = self.v_proj.forward(hidden).view(per_head)
        if self.q_norm is not None and self.k_norm is not None:
            query, key = self.q_norm.forward(query), self.k_norm.forward(key)
        # One rotation for both: the step of a small model costs as many calls, not as many numbers.
        turned = rotated(torch.cat((query, key), dim=2), this.angles).transpose(1, 2)
        query, key = turned.split_with_sizes((self.site.num_heads, self.site.kv_heads), dim=1)
        keys, values = this.cache.update(self.index, key, value.transpose(1, 2))
        attended = attend(query, keys, values, site=self.site, mask=this.step.mask, causal=this.step.causal)
        return self.o_proj.forward(attended.transpose(1, 2).reshape(hidden.shape[0], -1))


class GatedMlp(nn.Module):
    """SiLU-gated feed-forward without biases."""

    def __init__(self, hidden_size: int, intermediate_size: int) -> None:
        super().__init__()
        self.gate_proj = ops.Linear(hidden_size, intermediate_size, bias=False)
        self.up_proj = ops.Linear(hidden_size, intermediate_size, bias=False)
        self.down_proj = ops.Linear(intermediate_size, hidden_size, bias=False)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[..., hidden_size], like `hidden`."""
        return self.down_proj.forward(F.silu(self.gate_proj.forward(hidden)).mul_(self.up_proj.forward(hidden)))


def _rope(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Its rotary settings beyond the base, wherever its version of the format keeps them."""
    return config.get("rope_parameters") or config.get("rope_scaling") or {}


def _refuse_others(config: Mapping[str, Any]) -> None:
    rope = _rope(config)
    kind = rope.get("rope_type", rope.get("type", "default"))
    found = {
        "hidden_act": (config.get("hidden_act", "silu"), ("silu",)),
        "rope_type": (kind, _PLAIN_ROPE),
        "use_sliding_window": (bool(config.get("use_sliding_window", False)), (False,)),
        "attention_bias": (bool(config.get("attention_bias", False)), (False,)),
    }
    for key, (value, known) in found.items():
        if value not in known:
            raise ModelFileError(f'The model\'s configuration says "{key}": {value!r}, which this decoder cannot do.')
