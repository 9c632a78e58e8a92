"""Every attention of every model passes here, and torch's own is called nowhere else."""

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
    """Attention output, [B, H, T, D]: the site's reference, or what the policy that is bound to it picks.

    Args:
        query: [B, H, T, D].
        key: [B, K, S, D] with the site's key heads K; each serves H / K query heads.
        value: Like `key`.
        site: Which call this is.
        mask: Boolean (True takes part) or additive, broadcastable to [B, H, T, S].
        causal: Let position t see positions up to t; not together with `mask`.
        scale: Factor on the scores; `1 / sqrt(D)` when None.

    Raises:
        Unsupported: The bound policy is strict and cannot be kept.
    """
    # Runs hundreds of times a second: no shape is looked at on this way.
    if site.policy is not None:
        return site.policy.attend(query, key, value, site, mask, causal, scale)
    if site.reference is not None:
        return site.reference(query, key, value, mask, causal, scale)
    return F.scaled_dot_product_attention(query, key, value, mask, 0.0, causal, scale=scale, enable_gqa=site.is_grouped)


def sdpa(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    causal: bool,
    scale: float | None,
) -> torch.Tensor:
    """Torch's attention on the fastest kernel that torch has for the call; arguments as in `attend`."""
    is_grouped = query.shape[1] != key.shape[1]
    if is_grouped and mask is not None:
        # With a mask, torch shares key heads only in its slowest kernel.
        repeats = query.shape[1] // key.shape[1]
        key, value, is_grouped = key.repeat_interleave(repeats, 1), value.repeat_interleave(repeats, 1), False
    return F.scaled_dot_product_attention(query, key, value, mask, 0.0, causal, scale=scale, enable_gqa=is_grouped)
