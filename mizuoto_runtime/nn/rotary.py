"""Rotary position embeddings over neighbouring channels, as in GPT-J; those over halves are in `lm.rope`."""

from __future__ import annotations

import torch

from ..lm.rope import Angles


def pair_angles(frequencies: torch.Tensor, num_positions: int, dtype: torch.dtype) -> Angles:
    """What `rotated_pairs` turns heads at positions 0, 1, ... by: cosines and signed sines, each [1, T, 1, head_dim].

    Computed in float32 whatever `dtype` is. The sines of even channels are negative.

    Args:
        frequencies: [head_dim / 2] radians a position, float32.
        num_positions: T.
        dtype: Of the result.

    Source: RotaryEmbedding.forward, x-transformers 2.31.10.
    """
    positions = torch.arange(num_positions, device=frequencies.device).type_as(frequencies)
    angles = torch.outer(positions, frequencies)[None, :, None]
    cos, sin = angles.cos().to(dtype), angles.sin().to(dtype)
    return cos.repeat_interleave(2, dim=-1), torch.stack((-sin, sin), dim=-1).flatten(-2)


def rotated_pairs(heads: torch.Tensor, angles: Angles) -> torch.Tensor:
    """`heads` [B, T, H, head_dim], each pair of channels turned by its angle.

    Source: apply_rotary_pos_emb, x-transformers 2.31.10; the sign is on the sine instead of the heads.
    """
    cos, sin = angles
    even, odd = heads.unflatten(-1, (-1, 2)).unbind(-1)
    swapped = torch.stack((odd, even), dim=-1).flatten(-2)
    return (heads * cos).add_(swapped.mul_(sin))
