"""A pronunciation dictionary held as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from numpy.typing import NDArray

from .index import WordIndex

Reading = str | dict[str, str | None]
"""Phonemes, or phonemes by part of speech: a tag, "NOUN", "VERB", "ADJ", "ADV", "None" before a pause, "DEFAULT"."""

_CACHED_WORDS = 8192


def parse_reading(text: str) -> Reading:
    """A reading from its text, "həlˈO" or "DEFAULT=ɹˈid;VBD=ɹˈɛd"; nothing after "=" means: not read so."""
    if "=" not in text:
        return text
    pairs = (part.partition("=") for part in text.split(";"))
    return {key: sound or None for key, _, sound in pairs}


class Dictionary:
    """Readings of words; a lower-case entry also serves the capitalised word, and the other way round.

    Args:
        arrays: `words` sorted, and `readings`, UTF-8 bytes, of which `starts[i]` to `starts[i + 1]` belong to word `i`.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]]):
        self._index = WordIndex(arrays["words"])
        self._starts, self._readings = arrays["starts"], arrays["readings"]
        self.get = lru_cache(_CACHED_WORDS)(self._get)
        """The reading of a word as written, or of its other case; None if it has none."""

    def __contains__(self, word: str) -> bool:
        return self.get(word) is not None

    def _get(self, word: str) -> Reading | None:
        found = self._exact(word)
        if found is None and len(word) > 1:
            if word == word.lower():
                return self._exact(word.capitalize())
            if word == word.capitalize():
                return self._exact(word.lower())
        return found

    def _exact(self, word: str) -> Reading | None:
        at = self._index.find([word])
        if not at:
            return None
        return parse_reading(self._readings[self._starts[at[0]] : self._starts[at[0] + 1]].tobytes().decode())
