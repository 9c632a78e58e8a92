"""Roman numerals in running text."""

from __future__ import annotations

from itertools import pairwise

_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}

ROMAN = (
    r"((?=[IVXLC][IVXLCDM]*\b)M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3}))\b(?<=[IVXLCDM])"
    r"(?![.'’]\w)"  # "Part I'm" and "Chapter C.S." hold no numeral
)
"""Pattern with one group, the numeral."""


def roman_value(numeral: str) -> int:
    """The value of a numeral that `ROMAN` matched: "XIV" -> 14."""
    values = [_DIGITS[c] for c in numeral] + [0]
    return sum(-v if v < after else v for v, after in pairwise(values))
