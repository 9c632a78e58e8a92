"""Which neighbouring code points form one visible character: the cases that text to be spoken holds."""

from __future__ import annotations

import unicodedata

_ZWJ = "\u200d"
_JOINING_CATEGORIES = frozenset(["Mn", "Me", "Mc"])  # accents, variation selectors, vowel signs


def is_joined(text: str, at: int, start: int = 0) -> bool:
    """Whether a cut before `text[at]`, `start` < `at` < `len(text)`, would split a visible character.

    Flags are counted from `start` on, which must not be inside one.
    """
    before, after = text[at - 1], text[at]
    if after.isascii():
        return before == "\r" and after == "\n"
    if unicodedata.category(after) in _JOINING_CATEGORIES or _ZWJ in (before, after):
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":  # skin tones, flag tags
        return True
    if "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff":
        return True
    if "\u1160" <= after <= "\u11ff":  # vowels and finals of decomposed Hangul
        return "\u1100" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3"
    return _is_flag_half(after) and _num_flag_halves(text, start, at) % 2 == 1


def _is_flag_half(c: str) -> bool:
    return "\U0001f1e6" <= c <= "\U0001f1ff"


def _num_flag_halves(text: str, start: int, end: int) -> int:
    """How many halves of flags stand right before `end`: every two of them are a flag."""
    at = end
    while at > start and _is_flag_half(text[at - 1]):
        at -= 1
    return end - at
