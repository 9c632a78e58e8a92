"""What a site on "auto" adds to the bare call of torch's attention, equal output asserted first."""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.nn.functional as F
from mizuoto.mizuoto_runtime.attention import Site, attend
from mizuoto.tests.bench.body import best_s, row

ROUNDS, CALLS = 50, 100
MAX_ADDED_US = 1.0
SITE = Site("bench:site", num_heads=4, head_dim=8)


@torch.inference_mode()
def run() -> Iterable[dict]:
    """The one row."""
    torch.set_num_threads(1)
    tensors = [torch.randn(1, 4, 1, 8, generator=torch.Generator().manual_seed(seed)) for seed in range(3)]

    def bare() -> torch.Tensor:
        return F.scaled_dot_product_attention(*tensors, attn_mask=None, is_causal=False, scale=None, enable_gqa=False)

    def ours() -> torch.Tensor:
        return attend(*tensors, site=SITE)

    if not torch.equal(bare(), ours()):
        raise AssertionError("a site gives another output than the bare call")
    best = best_s({f.__name__: lambda f=f: [f() for _ in range(CALLS)] for f in (bare, ours)}, ROUNDS)
    added_us = (best["ours"] - best["bare"]) * 1e6 / CALLS
    yield row("attention-auto", "us that a site on auto adds to the bare call", added_us, None, MAX_ADDED_US)
