"""The diffusion transformer with adaptive norms (DiT): its blocks, and what tells them time and place.

What the time says to each block, its modulation, is a module beside the block and not in it: for one schedule of steps
all modulations can be computed at once, and then two fifths of the weights are not needed while the steps run.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from .. import ops
from ..attention import Site, attend
from ..lm.rope import Angles
from .rotary import rotated_pairs

NORM_EPS = 1e-6
_TIME_SCALE = 1000.0


class TimeEmbedding(nn.Module):
    """A time from 0 to 1 as a vector.

    Args:
        hidden_size: Of the vector.
        frequency_size: Sines and cosines of the time, together.

    Source: TimestepEmbedding, f5-tts 1.1.22.
    """

    def __init__(self, hidden_size: int, frequency_size: int = 256) -> None:
        super().__init__()
        self.frequency_size = frequency_size
        self.expand = ops.Linear(frequency_size, hidden_size)
        self.project = ops.Linear(hidden_size, hidden_size)

    def forward(self, time: torch.Tensor) -> torch.Tensor:
        """[B] float32 -> [B, hidden_size]. Each row apart: several in one product would round otherwise."""
        half = self.frequency_size // 2
        frequencies = torch.exp(torch.arange(half, device=time.device).float() * -(math.log(10000) / (half - 1)))
        angles = _TIME_SCALE * time[:, None] * frequencies
        waves = torch.cat((angles.sin(), angles.cos()), dim=-1).to(self.expand.weight.dtype)
        return torch.cat([self.project(F.silu(self.expand(row))) for row in waves.split(1)])


class Modulation(nn.Module):
    """What one block does to its stream at each time: `num_parts` vectors of the stream's width.

    Source: AdaLayerNorm.linear, f5-tts 1.1.22.
    """

    def __init__(self, hidden_size: int, num_parts: int) -> None:
        super().__init__()
        self.num_parts = num_parts
        self.linear = ops.Linear(hidden_size, num_parts * hidden_size)

    def forward(self, times: torch.Tensor, rows: int) -> torch.Tensor:
        """[steps, hidden_size] from `TimeEmbedding` -> [steps, num_parts, hidden_size].

        Args:
            times: One row a step.
            rows: In how many equal rows the upstream computes each: one and two round differently, and two do alike.
        """
        active = F.silu(times)
        parts = [self.linear(row.repeat(rows, 1))[0] for row in active.split(1)]
        return torch.stack(parts).unflatten(-1, (self.num_parts, -1))


class DitAttention(nn.Module):
    """Self-attention over the whole sequence with biases and positions in neighbouring channels.

    Args:
        hidden_size: Width of the stream.
        site: Name, heads and head width.
        has_norm: Whether queries and keys are normalised in each head.

    Source: Attention and AttnProcessor, f5-tts 1.1.22.
    """

    def __init__(self, hidden_size: int, site: Site, has_norm: bool = False) -> None:
        super().__init__()
        self.site = site
        inner = site.num_heads * site.head_dim
        self.q_proj = ops.Linear(hidden_size, inner)
        self.k_proj = ops.Linear(hidden_size, inner)
        self.v_proj = ops.Linear(hidden_size, inner)
        self.o_proj = ops.Linear(inner, hidden_size)
        self.q_norm = HeadNorm(site.head_dim) if has_norm else None
        self.k_norm = HeadNorm(site.head_dim) if has_norm else None

    def forward(self, hidden: torch.Tensor, angles: Angles, num_rotated: int | None = None) -> torch.Tensor:
        """[B, T, hidden_size] -> the same shape.

        Args:
            hidden: The sequence.
            angles: From `rotary.pair_angles`.
            num_rotated: So many of the first heads are told positions; None is all.
        """
        query, key, value = (
            projection(hidden).unflatten(-1, (-1, self.site.head_dim))  # [B, T, H, D]
            for projection in (self.q_proj, self.k_proj, self.v_proj)
        )
        if self.q_norm is not None and self.k_norm is not None:
            query, key = self.q_norm(query), self.k_norm(key)
        query, key = (_placed(heads, angles, num_rotated) for heads in (query, key))
        mixed = attend(*(heads.transpose(1, 2) for heads in (query, key, value)), site=self.site)
        return self.o_proj(mixed.transpose(1, 2).flatten(2))


class HeadNorm(nn.Module):
    """Root mean square normalisation of each head, in torch's own kernel.

    Source: RMSNorm, f5-tts 1.1.22.
    """

    def __init__(self, head_dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(head_dim))

    def forward(self, heads: torch.Tensor) -> torch.Tensor:
        """[..., head_dim] -> the same shape."""
        return F.rms_norm(heads, heads.shape[-1:], self.weight, NORM_EPS)


class DitFeedForward(nn.Module):
    """Two linear layers around the tanh form of GELU."""

    def __init__(self, hidden_size: int, intermediate_size: int) -> None:
        super().__init__()
        self.expand = ops.Linear(hidden_size, intermediate_size)
        self.project = ops.Linear(intermediate_size, hidden_size)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[..., hidden_size] -> the same shape."""
        return self.project(F.gelu(self.expand(hidden), approximate="tanh"))


class DitBlock(nn.Module):
    """Attention and feed-forward network; before each a norm that the modulation shifts and scales, after it a gate.

    Args:
        hidden_size: Width of the stream.
        intermediate_size: Width inside the feed-forward network.
        site: Of the attention.
        has_head_norm: As in `DitAttention`.

    Source: DiTBlock, f5-tts 1.1.22.
    """

    NUM_PARTS = 6

    def __init__(self, hidden_size: int, intermediate_size: int, site: Site, has_head_norm: bool = False) -> None:
        super().__init__()
        self.attention = DitAttention(hidden_size, site, has_head_norm)
        self.feed_forward = DitFeedForward(hidden_size, intermediate_size)

    def forward(
        self, hidden: torch.Tensor, modulation: torch.Tensor, angles: Angles, num_rotated: int | None = None
    ) -> torch.Tensor:
        """[B, T, hidden_size] -> the same shape.

        Args:
            hidden: The stream.
            modulation: [6, hidden_size] of one step: shift, scale and gate of the attention, then of the network.
            angles: As in `DitAttention`.
            num_rotated: As there.
        """
        shift, scale, gate, later_shift, later_scale, later_gate = modulation
        hidden = self.attention(modulated(hidden, shift, scale), angles, num_rotated).mul_(gate).add_(hidden)
        return self.feed_forward(modulated(hidden, later_shift, later_scale)).mul_(later_gate).add_(hidden)


def modulated(hidden: torch.Tensor, shift: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """`hidden` [B, T, hidden_size] normalised, then shifted and scaled by vectors."""
    return F.layer_norm(hidden, hidden.shape[-1:], eps=NORM_EPS).mul_(1 + scale).add_(shift)


class ConvPositions(nn.Module):
    """Where each frame stands among its neighbours: two grouped convolutions, each with a Mish.

    Source: ConvPositionEmbedding, f5-tts 1.1.22.
    """

    def __init__(self, hidden_size: int, kernel_size: int = 31, groups: int = 16) -> None:
        super().__init__()
        padding = kernel_size // 2
        self.first = ops.Conv1d(hidden_size, hidden_size, kernel_size, padding=padding, groups=groups)
        self.second = ops.Conv1d(hidden_size, hidden_size, kernel_size, padding=padding, groups=groups)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, T, hidden_size] -> the same shape, to be added."""
        inner = F.mish(self.first(hidden.transpose(1, 2)), inplace=True)
        return F.mish(self.second(inner), inplace=True).transpose(1, 2)


def _placed(heads: torch.Tensor, angles: Angles, num_rotated: int | None) -> torch.Tensor:
    if num_rotated is None:
        return rotated_pairs(heads, angles)
    return torch.cat((rotated_pairs(heads[:, :, :num_rotated], angles), heads[:, :, num_rotated:]), dim=2)
