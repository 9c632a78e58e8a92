"""The reading of words that no dictionary has, by a small character transformer.

Every character has a few output slots; the best symbol of each slot is read CTC style: repeats and blanks fall away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...ops import Embedding, LayerNorm, Linear

_NUM_HEADS = 4  # not recorded in the weights
_CACHED_WORDS = 4096


class _Attention(nn.Module):
    def __init__(self, hidden_size: int):
        super().__init__()
        self.in_proj_weight = nn.Parameter(torch.empty(3 * hidden_size, hidden_size))
        self.in_proj_bias = nn.Parameter(torch.empty(3 * hidden_size))
        self.out_proj = Linear(hidden_size, hidden_size)

    def forward(self, hidden: Tensor) -> Tensor:
        parts = F.linear(hidden, self.in_proj_weight, self.in_proj_bias).chunk(3, -1)
        query, key, value = (p.unflatten(-1, (_NUM_HEADS, -1)).transpose(1, 2) for p in parts)  # [B, H, T, D]
        scores = torch.softmax(query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5, -1)
        mixed: Tensor = self.out_proj((scores @ value).transpose(1, 2).flatten(2))
        return mixed


class _Layer(nn.Module):
    def __init__(self, hidden_size: int, intermediate_size: int):
        super().__init__()
        self.self_attn = _Attention(hidden_size)
        self.linear1 = Linear(hidden_size, intermediate_size)
        self.linear2 = Linear(intermediate_size, hidden_size)
        self.norm1, self.norm2 = LayerNorm(hidden_size), LayerNorm(hidden_size)

    def forward(self, hidden: Tensor) -> Tensor:
        hidden = hidden + self.self_attn(self.norm1(hidden))
        fed: Tensor = hidden + self.linear2(F.gelu(self.linear1(self.norm2(hidden))))
        return fed


class OovNet(nn.Module):
    """Characters -> phoneme symbols.

    Args:
        state: The weights, from which all sizes but `num_slots` follow.
        num_slots: Output symbols a character.
    """

    def __init__(self, state: Mapping[str, Tensor], num_slots: int):
        super().__init__()
        num_chars, hidden_size = state["emb.weight"].shape
        intermediate_size = state["layers.0.linear1.weight"].shape[0]
        num_layers = len({name.split(".")[1] for name in state if name.startswith("layers.")})
        self._num_slots = num_slots
        self.emb = Embedding(num_chars, hidden_size)
        self.pos = nn.Parameter(torch.empty(state["pos"].shape))
        self.layers = nn.ModuleList(_Layer(hidden_size, intermediate_size) for _ in range(num_layers))
        self.norm, self.head = LayerNorm(hidden_size), Linear(hidden_size, state["head.weight"].shape[0])
        self.load_state_dict(dict(state))
        self.eval().requires_grad_(False)

    def forward(self, ids: Tensor) -> Tensor:
        """`ids` [B, T] of characters -> the best symbol of every slot, [B, T * num_slots]; 0 is the blank."""
        hidden = self.emb(ids) + self.pos[: ids.shape[1]]
        for layer in self.layers:
            hidden = layer(hidden)
        logits: Tensor = self.head(self.norm(hidden)).unflatten(-1, (self._num_slots, -1)).flatten(1, 2)
        return logits.argmax(-1)


class OovReader:
    """Reads unknown words.

    Args:
        state: The weights of the net.
        alphabet: "in" and "out", its characters and phonemes from id 1 on; "slots"; "maxlen", its longest word.
    """

    def __init__(self, state: Mapping[str, Tensor], alphabet: Mapping[str, Any]):
        self._ids = {c: i for i, c in enumerate(alphabet["in"], 1)}
        self._phonemes = dict(enumerate(alphabet["out"], 1))
        self._max_length: int = alphabet["maxlen"]
        self._net = OovNet(state, alphabet["slots"])
        self._read = lru_cache(_CACHED_WORDS)(self._phonemes_of)

    def __call__(self, word: str) -> str:
        """The phonemes of `word`; characters that the net does not know are passed over, so "" if it knows none."""
        known = "".join(c for c in word if c in self._ids)
        # The net sees so many characters at once: a longer word is read in equal parts rather than cut off.
        num_parts = -(-len(known) // self._max_length)
        edges = [len(known) * i // max(num_parts, 1) for i in range(num_parts + 1)]
        return "".join(self._read(known[a:b]) for a, b in pairwise(edges))

    def unknown(self, word: str) -> str:
        """Those characters of `word` that the net does not know, in order."""
        return "".join(c for c in word if c not in self._ids)

    @torch.inference_mode()
    def _phonemes_of(self, word: str) -> str:
        best: Sequence[int] = self._net(torch.tensor([[self._ids[c] for c in word]]))[0].tolist()
        return "".join(self._phonemes[i] for i, before in zip(best, [0, *best], strict=False) if i not in (0, before))
