"""Keys and values of the positions that a decoder has seen, one cache a generation.

Both kinds write a step's keys at the positions that follow and count them only when the step is over, so that a step
that failed can be run again. Weights are not their business, and neither is where the model is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch

from .rope import Angles, Rope

_BLOCK = 64  # positions that a growing cache adds at a time


@dataclass(frozen=True, slots=True)
class Step:
    """What a decoder needs to know of the positions it computes next.

    Args:
        positions: [1, T] or [B, T], counted from the first position of a row that is no padding.
        mask: Boolean, True takes part, [1, 1, T, S] or [B, 1, T, S]; None if every cached position does.
        causal: Whether position t of the step must not see the ones after it; never together with `mask`.
    """

    positions: torch.Tensor
    mask: torch.Tensor | None
    causal: bool


class KvCache(Protocol):
    """What a decoder does with a cache: `begin`, `update` once a layer, `advance`."""

    def begin(self, num_tokens: int, device: torch.device) -> Step:
        """Where the next `num_tokens` positions are and what they see; changes nothing."""
        ...

    def angles(self, step: Step, rope: Rope) -> Angles:
        """How the heads of a step are turned."""
        ...

    def update(self, layer: int, key: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Store a step's keys and values [B, K, T, D] of one layer; all that attention is to see, [B, K, S, D]."""
        ...

    def advance(self, num_tokens: int) -> None:
        """Count the positions of a step that every layer has stored."""
        ...


class GrowingCache:
    """A cache of exactly the positions seen so far: attention gives the bits of transformers' DynamicCache.

    Its views are as long as the sequence, and the memory behind them grows in blocks, so no step copies the past.

    Args:
        num_padding: [B] int64, on the model's device: how many first positions of each row are padding; None if no
            row has any.
        reserve: Positions to make room for at once; more are added as needed.
    """

    def __init__(self, num_padding: torch.Tensor | None = None, reserve: int = 0) -> None:
        self.num_padding = num_padding
        self.reserve = reserve
        self.length = 0
        self._angles: Angles | None = None  # of the first positions, whatever is in the cache
        self._keys: dict[int, torch.Tensor] = {}
        self._values: dict[int, torch.Tensor] = {}

    def reset(self) -> None:
        """Forget every position and keep the memory."""
        self.length = 0

    def begin(self, num_tokens: int, device: torch.device) -> Step:
        """See `KvCache`."""
        end = self.length + num_tokens
        positions = torch.arange(self.length, end, device=device)[None]
        if self.num_padding is not None:
            return _padded(positions, torch.arange(end, device=device), self.num_padding)
        if self.length and num_tokens > 1:
            return Step(positions, _not_after(torch.arange(end, device=device), positions), causal=False)
        return Step(positions, None, causal=num_tokens > 1)

    def angles(self, step: Step, rope: Rope) -> Angles:
        """See `KvCache`; computed once for many positions, as a step of one costs about as much."""
        if self.num_padding is not None:
            return rope.angles(step.positions)
        end = self.length + step.positions.shape[1]
        if self._angles is None or self._angles[0].shape[1] < end:
            room = -(-max(2 * self.length, end, self.reserve) // _BLOCK) * _BLOCK
            self._angles = rope.angles(torch.arange(room, device=step.positions.device)[None])
        cos, sin = self._angles
        return cos[:, self.length : end], sin[:, self.length : end]

    def update(self, layer: int, key: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """See `KvCache`."""
        end = self.length + key.shape[2]
        return self._stored(self._keys, layer, key, end), self._stored(self._values, layer, value, end)

    def advance(self, num_tokens: int) -> None:
        """See `KvCache`."""
        self.length += num_tokens

    def reorder(self, rows: torch.Tensor) -> None:
        """Let row b go on from the past of row `rows[b]`, [B] int64 on the cache's device; for beam search."""
        if self.num_padding is not None:
            self.num_padding = self.num_padding[rows]
        for buffers in (self._keys, self._values):
            for layer, buffer in buffers.items():
                buffers[layer] = buffer[rows]

    def _stored(self, buffers: dict[int, torch.Tensor], layer: int, new: torch.Tensor, end: int) -> torch.Tensor:
        buffer = buffers.get(layer)
        if buffer is None or buffer.shape[2] < end:
            room = -(-max(end, self.reserve) // _BLOCK) * _BLOCK
            larger = new.new_empty(*new.shape[:2], room, new.shape[3])
            if buffer is not None:
                larger[:, :, : self.length] = buffer[:, :, : self.length]
            buffer = buffers[layer] = larger
        buffer[:, :, self.length : end] = new
        return buffer[:, :, :end]


class PaddedCache(GrowingCache):
    """A growing cache whose steps of one position attend over whole blocks, the unused positions masked.

    That gives the bits of a cache of any fixed length: kernels go through the keys in vectors, and a vector of masked
    keys adds nothing. The first step, of all that is read at once, sees exactly its own positions.
    """

    def begin(self, num_tokens: int, device: torch.device) -> Step:
        """See `KvCache`."""
        if not self.length or self.num_padding is not None:
            return super().begin(num_tokens, device)
        end = self.length + num_tokens
        positions = torch.arange(self.length, end, device=device)[None]
        return Step(positions, _not_after(torch.arange(_whole_blocks(end), device=device), positions), causal=False)

    def _stored(self, buffers: dict[int, torch.Tensor], layer: int, new: torch.Tensor, end: int) -> torch.Tensor:
        before = buffers.get(layer)
        seen = super()._stored(buffers, layer, new, end)
        buffer = buffers[layer]
        if buffer is not before:
            buffer[:, :, end:] = 0  # a masked NaN would still be one
        is_exact = not self.length or self.num_padding is not None
        return seen if is_exact else buffer[:, :, : _whole_blocks(end)]


class WholeSequence:
    """The cache of a model that reads every sequence at once, in both directions: it keeps nothing but the angles."""

    def __init__(self) -> None:
        self._step: Step | None = None
        self._angles: Angles | None = None

    def begin(self, num_tokens: int, device: torch.device) -> Step:
        """See `KvCache`."""
        if self._step is None or self._step.positions.shape[1] != num_tokens:
            self._step = Step(torch.arange(num_tokens, device=device)[None], None, causal=False)
            self._angles = None
        return self._step

    def angles(self, step: Step, rope: Rope) -> Angles:
        """See `KvCache`; always the same model's."""
        if self._angles is None:
            self._angles = rope.angles(step.positions)
        return self._angles

    def update(self, layer: int, key: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """See `KvCache`."""
        return key, value

    def advance(self, num_tokens: int) -> None:
        """See `KvCache`."""


class StaticCache:
    """A cache of fixed size and addresses that never asks the device where it is: made for captured steps.

    Attention runs over all `max_length` positions, the unused ones masked, which rounds differently from
    `GrowingCache`. The caller sees to it that no more than `max_length` positions are stored.

    Args:
        shape: Layers, batch, key heads, `max_length`, head width.
        device: Where the keys and values live.
        dtype: Of keys and values.
        num_padding: See `GrowingCache`.
    """

    def __init__(
        self,
        shape: tuple[int, int, int, int, int],
        device: torch.device,
        dtype: torch.dtype,
        num_padding: torch.Tensor | None = None,
    ) -> None:
        self.num_padding = num_padding
        self.keys = torch.zeros(shape, device=device, dtype=dtype)
        self.values = torch.zeros(shape, device=device, dtype=dtype)
        self.length = torch.zeros(1, device=device, dtype=torch.int64)
        self._slots = torch.arange(shape[3], device=device)

    @property
    def max_length(self) -> int:
        """Positions that fit."""
        return self.keys.shape[3]

    def reset(self) -> None:
        """Forget every position, in place."""
        self.length.zero_()

    def begin(self, num_tokens: int, device: torch.device) -> Step:
        """See `KvCache`."""
        positions = (self.length + self._slots[:num_tokens])[None]
        if self.num_padding is not None:
            return _padded(positions, self._slots, self.num_padding)
        return Step(positions, _not_after(self._slots, positions), causal=False)

    def angles(self, step: Step, rope: Rope) -> Angles:
        """See `KvCache`."""
        return rope.angles(step.positions)

    def update(self, layer: int, key: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """See `KvCache`."""
        keys, values = self.keys[layer], self.values[layer]
        where = self.length + self._slots[: key.shape[2]]
        keys.index_copy_(2, where, key)
        values.index_copy_(2, where, value)
        return keys, values

    def advance(self, num_tokens: int) -> None:
        """See `KvCache`."""
        self.length += num_tokens


def _whole_blocks(length: int) -> int:
    return -(-length // _BLOCK) * _BLOCK


def _not_after(slots: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Which slots each position may see, [B, 1, T, S]: a mask of other rank would take a slower kernel."""
    return slots <= positions[:, None, :, None]


def _padded(positions: torch.Tensor, slots: torch.Tensor, num_padding: torch.Tensor) -> Step:
    is_seen = (slots >= num_padding[:, None])[:, None, None] & _not_after(slots, positions)
    return Step((positions - num_padding[:, None]).clamp(min=0), is_seen, causal=False)
