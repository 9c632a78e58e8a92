"""The reference computation of every site: PyTorch's scaled dot product attention, called nowhere else."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from .sites import Site


def attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *,
    site: Site,
    mask: torch.Tensor | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> torch.Tensor:
    """Attention output, [B, H, T, D].

    Args:
        query: [B, H, T, D].
        key: [B, K, S, D] with the site's key heads K; each serves H / K query heads.
        value: Like `key`.
        site: Which call this is.
        mask: Boolean (True takes part) or additive, broadcastable to [B, H, T, S].
        causal: Let position t see positions up to t; not together with `mask`.
        scale: Factor on the scores; `1 / sqrt(D)` when None.

    Raises:
        ValueError: The tensors do not have the site's heads and head width.
    """
    expected = (site.num_heads, site.head_dim), (site.kv_heads, site.head_dim), (site.kv_heads, site.head_dim)
    found = tuple((tensor.shape[1], tensor.shape[-1]) for tensor in (query, key, value))
    if found != expected:
        raise ValueError(f"{site.name}: query, key and value have (heads, width) {found}, the site has {expected}")
    return F.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, is_causal=causal, scale=scale, enable_gqa=site.kv_heads != site.num_heads
    )
