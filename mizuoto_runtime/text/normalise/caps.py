"""Long runs of words in capitals, which models shout, spell or garble, in lower case."""

from __future__ import annotations

import re

from .english_tables import SPELLED

_WORD = r"(?<![\w'])[A-Z]{2,}(?:'[A-Z]+)?(?![\w'])"
_LITTLE = r"(?:[AI](?![\w']))"
_RUN = re.compile(rf"{_WORD}(?:[ ,\-:;\"&]{{1,3}}(?:{_WORD}|{_LITTLE}))*[ ,\-:;\"&]{{1,3}}(?:{_WORD}|{_LITTLE})")
_ONE = re.compile(r"[A-Z]+(?:'[A-Z]+)?")
_ROMAN = re.compile(r"(?=..)X{0,3}(?:IX|IV|V?I{0,3})")
_MIN_WORDS = 3
_VOWELS = frozenset("AEIOUY")


def fold_caps(text: str) -> str:
    """Runs of three and more words in capitals as in a sentence: "NASA SAYS HELLO" -> "Nasa says hello".

    Words that are spelled out ("BBC", "USA") and roman numerals stay.
    """
    return _RUN.sub(_folded, text)


def _folded(m: re.Match[str]) -> str:
    run = m[0]
    if len(_ONE.findall(run)) < _MIN_WORDS:
        return run
    is_first = True

    def fold(word: re.Match[str]) -> str:
        nonlocal is_first
        starts, is_first = is_first, False
        if _stays(word[0]):
            return word[0]
        return word[0].capitalize() if starts else word[0].lower()

    return _ONE.sub(fold, run)


def _stays(word: str) -> bool:
    return word in SPELLED or word == "I" or word.startswith("I'") or _VOWELS.isdisjoint(word) or _is_roman(word)


def _is_roman(word: str) -> bool:
    return _ROMAN.fullmatch(word) is not None
