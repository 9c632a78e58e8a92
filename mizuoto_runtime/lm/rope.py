"""Rotary position embeddings in the half-split layout of Llama and Qwen."""

from __future__ import annotations

from dataclasses import dataclass

import torch

Angles = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True, slots=True)
class Rope:
    """One model's embedding: what `rotary` needs beside the positions."""

    head_dim: int
    theta: float
    dtype: torch.dtype

    def angles(self, positions: torch.Tensor) -> Angles:
        """See `rotary`."""
        return rotary(positions, self.head_dim, self.theta, self.dtype)


def rotary(positions: torch.Tensor, head_dim: int, theta: float, dtype: torch.dtype) -> Angles:
    """What `rotated` turns heads at `positions` [B, T] by: cosines and signed sines, [B, T, 1, head_dim] in `dtype`.

    Angles are computed in float32 whatever `dtype` is. The sines of the first half are negative.

    Source: Qwen3RotaryEmbedding.forward, transformers 4.57.3.
    """
    exponents = torch.arange(0, head_dim, 2, device=positions.device).float() / head_dim
    angles = positions[..., None, None].float() * (1.0 / theta**exponents)
    cos, sin = angles.cos().to(dtype), angles.sin().to(dtype)
    return torch.cat((cos, cos), dim=-1), torch.cat((-sin, sin), dim=-1)


def rotated(heads: torch.Tensor, angles: Angles) -> torch.Tensor:
    """`heads` [B, T, H, head_dim] turned by the angles of their positions.

    Source: apply_rotary_pos_emb, transformers 4.57.3; the sign is on the sine instead of the heads.
    """
    cos, sin = angles
    first, second = heads.chunk(2, dim=-1)
    return (heads * cos).add_(torch.cat((second, first), dim=-1).mul_(sin))
