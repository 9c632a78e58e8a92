"""Numbers in American English words, without "and"."""

from __future__ import annotations

DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_ONES = [*DIGITS, *_TEENS.split()]
_TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SCALES = (
    *("", "thousand", "million", "billion", "trillion", "quadrillion"),
    *("quintillion", "sextillion", "septillion", "octillion", "nonillion", "decillion"),
)
_ORDINALS = {
    **{"one": "first", "two": "second", "three": "third", "five": "fifth"},
    **{"eight": "eighth", "nine": "ninth", "twelve": "twelfth"},
}

MAX_DIGITS = 3 * len(_SCALES)
"""The longest number that has a name; longer ones are read digit by digit."""


def _below_hundred(n: int) -> str:
    if n < 20:
        return _ONES[n]
    return _TENS[n // 10] + (f"-{_ONES[n % 10]}" if n % 10 else "")


def _below_thousand(n: int) -> str:
    hundreds, rest = divmod(n, 100)
    words = [_ONES[hundreds], "hundred"] if hundreds else []
    return " ".join([*words, _below_hundred(rest)] if rest or not words else words)


def cardinal(n: int) -> str:
    """`n` in words: 21 -> "twenty-one".

    Raises:
        ValueError: `n` is negative or has more than `MAX_DIGITS` digits.
    """
    if n < 0 or n >= 10**MAX_DIGITS:
        raise ValueError(f"{n} has no name: numbers from 0 to {MAX_DIGITS} digits can be read.")
    if n < 1000:
        return _below_thousand(n)
    groups: list[str] = []
    for scale in _SCALES:
        n, rest = divmod(n, 1000)
        if rest:
            groups.insert(0, f"{_below_thousand(rest)} {scale}".strip())
    return " ".join(groups)


def ordinal(n: int) -> str:
    """`n` as a rank: 21 -> "twenty-first"; raises like `cardinal`."""
    words = cardinal(n)
    cut = max(words.rfind(" "), words.rfind("-")) + 1
    head, last = words[:cut], words[cut:]
    if last in _ORDINALS:
        return head + _ORDINALS[last]
    return head + (last[:-1] + "ieth" if last.endswith("y") else last + "th")


def year(n: int) -> str:
    """`n` as a year: 1905 -> "nineteen oh-five", 1900 -> "nineteen hundred", 2005 -> "two thousand five"."""
    century, rest = divmod(n, 100)
    if century == 0 or century >= 100 or (century % 10 == 0 and rest < 10):
        return cardinal(n)
    tail = "hundred" if rest == 0 else f"oh-{DIGITS[rest]}" if rest < 10 else cardinal(rest)
    return f"{cardinal(century)} {tail}"


def digit_names(digits: str) -> list[str]:
    """The name of every digit: "07" -> ["zero", "seven"]."""
    return [DIGITS[int(d)] for d in digits]


def decimal(number: str) -> str:
    """Digits after the point as written: "3.10" -> "three point one zero", ".75" -> "point seven five"."""
    whole, _, fraction = number.partition(".")
    words = [cardinal(int(whole))] if whole else []
    return " ".join([*words, "point", *digit_names(fraction)] if fraction else words)
