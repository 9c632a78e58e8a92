"""The reading of words that no dictionary has, by a small character transformer.

Every character has a few output slots; the best symbol of each slot is read CTC style: repeats and blanks fall away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from ...attention import Site
from ...nn.transformer import EncoderLayer
from ...ops import Embedding, LayerNorm, Linear
from .alphabet import is_latin

_NUM_HEADS = 4  # not recorded in the weights
_CACHED_WORDS = 4096
_RENAMES = {
    **{".self_attn.in_proj_": ".attention.qkv.", ".self_attn.out_proj.": ".attention.out."},
    **{".norm1.": ".attention_norm.", ".norm2.": ".feed_forward_norm."},
    **{".linear1.": ".expand.", ".linear2.": ".project."},
}
"""Parts of the file's keys -> those of `EncoderLayer`."""


def _renamed(key: str) -> str:
    for theirs, ours in _RENAMES.items():
        key = key.replace(theirs, ours)
    return key


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
        site = Site("english:oov", _NUM_HEADS, hidden_size // _NUM_HEADS)
        self.layers = nn.ModuleList(EncoderLayer(site, intermediate_size) for _ in range(num_layers))
        self.norm, self.head = LayerNorm(hidden_size), Linear(hidden_size, state["head.weight"].shape[0])
        self.load_state_dict({_renamed(key): value for key, value in state.items()})
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
        self._ids = {c: i for i, c in enumerate(alphabet["in"], 1) if is_latin(c)}
        self._phonemes = dict(enumerate(alphabet["out"], 1))
        self._max_length: int = alphabet["maxlen"]
        self._net = OovNet(state, alphabet["slots"])
        self._read = lru_cache(_CACHED_WORDS)(self._phonemes_of)

    def __call__(self, word: str) -> str:
        """The phonemes of `word`; characters that it does not know are passed over, so "" if it knows none."""
        known = "".join(c for c in word if c in self._ids)
        # The net sees so many characters at once: a longer word is read in equal parts rather than cut off.
        num_parts = -(-len(known) // self._max_length)
        edges = [len(known) * i // max(num_parts, 1) for i in range(num_parts + 1)]
        return "".join(self._read(known[a:b]) for a, b in pairwise(edges))

    def unknown(self, word: str) -> str:
        """Those characters of `word` that have no reading, in order; all letters that are not Latin are among them."""
        return "".join(c for c in word if c not in self._ids)

    @torch.inference_mode()
    def _phonemes_of(self, word: str) -> str:
        best: Sequence[int] = self._net(torch.tensor([[self._ids[c] for c in word]]))[0].tolist()
        return "".join(self._phonemes[i] for i, before in zip(best, [0, *best], strict=False) if i not in (0, before))
