"""A word list in one sorted array: a few bytes a word, where a dict of Python strings takes 200."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class WordIndex:
    """Positions of words in a sorted list.

    Args:
        words: UTF-8, sorted by bytes, without repeats, [N] of a numpy bytes type.
    """

    def __init__(self, words: NDArray[Any]):
        self._words = words

    def __len__(self) -> int:
        return len(self._words)

    def __contains__(self, word: str) -> bool:
        return bool(self.find([word]))

    def find(self, words: Sequence[str]) -> list[int]:
        """Positions of those of `words` that are in the list, in the order of `words`."""
        longest = self._words.dtype.itemsize
        # Lone surrogates reach us from broken text; a longer word would be cut to the array's width and match wrongly.
        wanted = [raw for raw in (w.encode("utf-8", "surrogatepass") for w in words) if len(raw) <= longest]
        places = self._words.searchsorted(np.array(wanted, self._words.dtype)).tolist()
        return [at for at, raw in zip(places, wanted, strict=True) if at < len(self) and self._words[at] == raw]
