"""Regular endings: candidates for the stem of a written form, and the sound of a stem with the ending."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_BEFORE_TAP = frozenset("AIOWYiuæɑəɛɪɹʊʌ")  # after these a final t becomes a tap before -ed and -ing
_DOUBLED = re.compile(r"([bcdgklmnprstvxz])\1ing$|cking$")


@dataclass(frozen=True, slots=True)
class Accent:
    """What endings sound like.

    Attributes:
        weak_vowel: Of -es and -ed behind a sound like theirs.
        has_taps: Whether a t between vowels becomes a tap.
        links_r: Whether an r that is not heard at the end of a word comes back before -ing, which is not known here.
    """

    weak_vowel: str
    has_taps: bool
    links_r: bool


AMERICAN = Accent("ᵻ", has_taps=True, links_r=False)
BRITISH = Accent("ɪ", has_taps=False, links_r=True)


def plural_sound(stem: str, accent: Accent = AMERICAN) -> str:
    """The stem's sound with -s: kˈæt -> kˈæts, dˈɔɡ -> dˈɔɡz, bˈʌs -> bˈʌsᵻz."""
    if stem[-1] in "ptkfθ":
        return stem + "s"
    return stem + (accent.weak_vowel if stem[-1] in "szʃʒʧʤ" else "") + "z"


def past_sound(stem: str, accent: Accent = AMERICAN) -> str:
    """The stem's sound with -ed: wˈɔk -> wˈɔkt, plˈA -> plˈAd, wˈAt -> wˈAɾᵻd."""
    if stem[-1] in "pkfθʃsʧ":
        return stem + "t"
    if stem[-1] == "d":
        return stem + accent.weak_vowel + "d"
    if stem[-1] != "t":
        return stem + "d"
    return _tapped(stem, accent) + ("ɪ" if len(stem) < 2 else accent.weak_vowel) + "d"


def progressive_sound(stem: str, accent: Accent = AMERICAN) -> str | None:
    """The stem's sound with -ing: wˈAt -> wˈAɾɪŋ; None where that is not known."""
    if accent.links_r and stem[-1] in "əː":
        return None
    return _tapped(stem, accent) + "ɪŋ"


def _tapped(stem: str, accent: Accent) -> str:
    is_tapped = accent.has_taps and stem[-1] == "t" and stem[-2:-1] in _BEFORE_TAP
    return stem[:-1] + "ɾ" if is_tapped else stem


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


INFLECTIONS: tuple[tuple[Callable[[str], Iterator[str]], Callable[[str, Accent], str | None]], ...] = (
    (plural_stems, plural_sound),
    (past_stems, past_sound),
    (progressive_stems, progressive_sound),
)
"""(stems of a written form, sound of a stem with the ending), in the order they are tried."""
