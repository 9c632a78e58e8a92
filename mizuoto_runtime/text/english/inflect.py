"""Regular endings: candidates for the stem of a written form, and the sound of a stem with the ending."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_BEFORE_TAP = frozenset("AIOWYiuæɑəɛɪɹʊʌ")  # after these a final t becomes a tap before -ed and -ing
_DOUBLED = re.compile(r"([bcdgklmnprstvxz])\1ing$|cking$")


def plural_sound(stem: str) -> str:
    """The stem's sound with -s: kˈæt -> kˈæts, dˈɔɡ -> dˈɔɡz, bˈʌs -> bˈʌsᵻz."""
    if stem[-1] in "ptkfθ":
        return stem + "s"
    return stem + ("ᵻ" if stem[-1] in "szʃʒʧʤ" else "") + "z"


def past_sound(stem: str) -> str:
    """The stem's sound with -ed: wˈɔk -> wˈɔkt, plˈA -> plˈAd, wˈAt -> wˈAɾᵻd."""
    if stem[-1] in "pkfθʃsʧ":
        return stem + "t"
    if stem[-1] == "d":
        return stem + "ᵻd"
    if stem[-1] != "t":
        return stem + "d"
    return _tapped(stem) + ("ɪd" if len(stem) < 2 else "ᵻd")


def progressive_sound(stem: str) -> str:
    """The stem's sound with -ing: wˈAt -> wˈAɾɪŋ."""
    return _tapped(stem) + "ɪŋ"


def _tapped(stem: str) -> str:
    return stem[:-1] + "ɾ" if stem[-1] == "t" and stem[-2:-1] in _BEFORE_TAP else stem


def plural_stems(word: str) -> Iterator[str]:
    """Words that `word` may be the plural, the third person or the possessive of."""
    if len(word) > 2 and word.endswith("s"):
        if not word.endswith("ss"):
            yield word[:-1]
        if word.endswith("'s") or (len(word) > 4 and word.endswith("es") and not word.endswith("ies")):
            yield word[:-2]
        if len(word) > 4 and word.endswith("ies"):
            yield word[:-3] + "y"


def past_stems(word: str) -> Iterator[str]:
    """Words that `word` may be the past form of."""
    if len(word) > 3 and word.endswith("d"):
        if not word.endswith("dd"):
            yield word[:-1]
        if len(word) > 4 and word.endswith("ed") and not word.endswith("eed"):
            yield word[:-2]


def progressive_stems(word: str) -> Iterator[str]:
    """Words that `word` may be the -ing form of."""
    if len(word) > 4 and word.endswith("ing"):
        if len(word) > 5:
            yield word[:-3]
        yield word[:-3] + "e"
        if len(word) > 5 and _DOUBLED.search(word):
            yield word[:-4]


INFLECTIONS: tuple[tuple[Callable[[str], Iterator[str]], Callable[[str], str]], ...] = (
    (plural_stems, plural_sound),
    (past_stems, past_sound),
    (progressive_stems, progressive_sound),
)
"""(stems of a written form, sound of a stem with the ending), in the order they are tried."""
