"""Part-of-speech tags (Penn Treebank's), which decide between readings such as "read" and "read".

An averaged perceptron with greedy decoding. The feature strings are those the shipped weights were trained with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .index import WordIndex

_BEFORE = ("-START2-", "-START-")
_AFTER = ("-END-", "-END2-")


def shape(word: str) -> str:
    """The kind of spelling: "d" digits, "x" lower case, "Xx" name, "XX" capitals, "xX" mixed, else its first signs."""
    if word.isdigit():
        return "d"
    if not word.isalpha():
        return "".join("d" if c.isdigit() else "x" if c.isalpha() else c for c in word[:4])
    if word.islower():
        return "x"
    if word.isupper():
        return "XX" if len(word) > 1 else "X1"
    return "Xx" if word[0].isupper() and word[1:].islower() else "xX"


class Tagger:
    """Tags the tokens of a line.

    Args:
        model: The arrays of `tagger.npz`. Row `i` of the sparse weights, `row_tags` and `row_weights` from `starts[i]`
            to `starts[i + 1]`, belongs to feature `i`; weights are in tenths.
    """

    def __init__(self, model: Mapping[str, NDArray[Any]]):
        self._tags = [t.decode() for t in model["tags"].tolist()]
        self._features = WordIndex(model["features"])
        self._starts, self._row_tags, self._weights = model["starts"], model["row_tags"], model["row_weights"]
        self._certain, self._certain_tags = WordIndex(model["certain_words"]), model["certain_tags"]
        self._vocabulary = WordIndex(model["vocabulary"])

    def __call__(self, words: Sequence[str]) -> list[str]:
        """One tag for each of `words`, none of which may be empty."""
        known = [*_BEFORE, *map(self._context_word, words), *_AFTER]
        tags = [*_BEFORE]
        for i, word in enumerate(words):
            at = self._certain.find([word])
            number = self._certain_tags[at[0]] if at else self._best(_features(i, word, known, tags[-1], tags[-2]))
            tags.append(self._tags[number])
        return tags[2:]

    def _context_word(self, word: str) -> str:
        if "-" in word and word[0] != "-":
            plain = "!HYPHEN"
        elif word.isdigit() and len(word) == 4:
            plain = "!YEAR"
        elif word[0].isdigit():
            plain = "!DIGITS"
        else:
            plain = word.lower()
        return plain if plain in self._vocabulary else f"<{shape(word)}>"

    def _best(self, features: Sequence[str]) -> int:
        """The number of the tag with the highest score; of equals the last, as in training."""
        scores = np.zeros(len(self._tags), np.int32)
        for row in self._features.find(features):
            part = slice(self._starts[row], self._starts[row + 1])
            scores[self._row_tags[part]] += self._weights[part]  # a row names each tag once
        return len(scores) - 1 - int(scores[::-1].argmax())


def _features(i: int, word: str, known: Sequence[str], last: str, before: str) -> list[str]:
    """`known`: the context words with two marks at each end, so that `known[i + 2]` is the word itself."""
    two_left, left, here, right, two_right = known[i : i + 5]
    return [
        *("b", f"s3={word[-3:]}", f"p1={word[0]}", f"w={here}", f"sh={shape(word)}", "i+" if i else "i0"),
        *(f"t-1={last}", f"t-2={before}", f"t-12={last},{before}", f"w-1={left}", f"s3-1={left[-3:]}"),
        *(f"w-2={two_left}", f"w+1={right}", f"s3+1={right[-3:]}", f"w+2={two_right}"),
    ]
