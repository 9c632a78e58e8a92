"""How much working memory an autoregressive phase needs, from the request and not from its limits (S161-S163).

Estimates may be wrong in either direction: calibration and the exact retry are there for that.
"""

from __future__ import annotations

import math
from typing import Literal

CacheKind = Literal["dynamic", "static"]


def kv_position_bytes(num_kv_heads: int, head_dim: int, element_bytes: int) -> int:
    """Bytes of keys and values that one position takes in one layer and one row of the batch."""
    return 2 * num_kv_heads * head_dim * element_bytes


def generated_positions(text_units: int, per_unit: float, max_new_tokens: int, min_positions: int = 0) -> int:
    """How many positions a text will probably generate (S162).

    Args:
        text_units: Length of the text in whatever the engine counts: text tokens, phonemes.
        per_unit: Generated positions for each of them, generously.
        max_new_tokens: The request's limit, never exceeded.
        min_positions: For very short texts, whose pauses outweigh their words.
    """
    return min(max_new_tokens, max(min_positions, math.ceil(text_units * per_unit)))


def peak_bytes(position_bytes: int, layers: int, positions: int, kind: CacheKind, rows: int = 1) -> int:
    """The most that a key-value cache takes while it grows to `positions` (S163).

    A dynamic cache is concatenated anew for every position: all layers, and one layer's fresh copy. A static cache
    doubles its buffers whenever they are full: up to twice the positions in all layers, and one layer's old buffer
    that is being copied from.

    Args:
        position_bytes: Of one layer and row, see `kv_position_bytes`.
        layers: Number of layers that have a cache.
        positions: Prompt and generated positions together.
        kind: How the cache grows.
        rows: Rows of the batch, guidance and beams included.
    """
    layer_bytes = position_bytes * positions * rows
    if kind == "dynamic":
        return (layers + 1) * layer_bytes
    return (2 * layers + 1) * layer_bytes
