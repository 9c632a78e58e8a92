"""Which words a token of digits is read as: a cardinal, a rank, a year, an amount of money, a version, a code."""

from __future__ import annotations

import re

from .numbers import MAX_DIGITS, cardinal, decimal, digit_names, ordinal, year

CURRENCIES = {"$": ("dollar", "cent"), "£": ("pound", "pence"), "€": ("euro", "cent")}
ORDINAL_SUFFIXES = ("st", "nd", "rd", "th")
MAGNITUDES = frozenset(["hundred", "thousand", "million", "billion", "trillion"])
"""Go on with the number before them: "$5 million"."""
PLURAL_MARK = "*"
"""Follows a unit of money that is to be read in the plural: "dollar*"."""
_SUFFIXES = ("ing", "'d", "ed", "'s", *ORDINAL_SUFFIXES, "s")


def is_number(word: str, first: bool) -> bool:
    """Whether `word` is digits with commas, points and perhaps an ending ("1990s"); a sign only if it is `first`."""
    if not re.search(r"[0-9]", word):
        return False
    suffix = next((s for s in _SUFFIXES if word.endswith(s)), "")
    return re.fullmatch(r"-?[0-9,.]*" if first else r"[0-9,.]*", word[: len(word) - len(suffix)]) is not None


def is_grouped(number: str) -> bool:
    """Whether the commas of `number` mark its thousands."""
    return re.fullmatch(r"[1-9]\d{0,2}(?:,\d{3})+", number) is not None


def number_words(digits: str, suffix: str, currency: str | None, first: bool, negative: bool) -> list[str]:
    """The words for a number.

    Args:
        digits: Digits, commas and points, without a sign.
        suffix: What follows them, such as "th"; endings other than those of ranks are left to the caller.
        currency: The sign that stood before it, or None.
        first: Whether it opens its word; digits after letters are codes ("F16").
        negative: Whether a minus stood before it, so that it is no year.
    """
    bare = digits.replace(",", "")
    if max(map(len, bare.split("."))) > MAX_DIGITS:
        return digit_names(bare.replace(".", ""))
    if digits.isdigit() and suffix in ORDINAL_SUFFIXES:
        return _words(ordinal(int(digits)))
    if digits.isdigit() and len(digits) > 1 and digits[0] == "0" and currency not in CURRENCIES:
        return digit_names(digits)  # a code: its zeros count
    if digits.isdigit() and len(digits) == 4 and not negative and currency not in CURRENCIES:
        return _words(year(int(digits)))
    if not first and "." not in digits:
        return _code(bare)
    if digits.count(".") > 1 or not first:
        return [word for part in bare.split(".") if part for word in _version_part(part)]
    if currency in CURRENCIES and len(bare.partition(".")[2]) < 3:
        return _money(bare, CURRENCIES[currency])
    if "." in bare:
        return _words(decimal(bare))
    return _words(ordinal(int(bare)) if suffix in ORDINAL_SUFFIXES else cardinal(int(bare)))


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text)


def _code(number: str) -> list[str]:
    """Digits after letters, as in F16, B747, A380, X1000."""
    if number[0] == "0" or len(number) > 3:
        return digit_names(number)
    if len(number) == 3 and not number.endswith("00"):
        tail = ["O", *digit_names(number[2])] if number[1] == "0" else _words(cardinal(int(number[1:])))
        return [*digit_names(number[0]), *tail]
    return _words(cardinal(int(number)))


def _version_part(part: str) -> list[str]:
    if part[0] == "0" or (len(part) != 2 and part[1:].strip("0")):
        return digit_names(part)
    return _words(cardinal(int(part)))


def _money(number: str, units: tuple[str, str]) -> list[str]:
    amounts = [(int(n or 0), unit) for n, unit in zip(number.split("."), units, strict=False)]
    if len(amounts) > 1:  # zero cents are left out, or zero dollars before cents
        amounts = amounts[:1] if amounts[1][0] == 0 else amounts[1:] if amounts[0][0] == 0 else amounts
    words: list[str] = []
    for n, unit in amounts:
        is_invariant = n == 1 or unit == "pence"
        words += [*(["and"] if words else []), *_words(cardinal(n)), unit if is_invariant else unit + PLURAL_MARK]
    return words
