"""Matched numbers, amounts, dates and times in English words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..english.dates import DateReader, read_time
from ..english.digits import number_words
from ..english.numbers import cardinal, digit_names, ordinal, year
from .english_tables import CURRENCIES, DENOMINATORS, MONEY_MAGNITUDES, PAIRS

_YEARS = range(1100, 2100)  # numbers of four digits without a comma that are read in pairs
_MAX_DENOMINATOR = 1000
_MIN_SHARE = 10  # of "80/20"


def plain(number: str) -> str:
    """Digits with commas and a point: "1,234.5" -> "one thousand two hundred thirty four point five"."""
    is_year = re.fullmatch("[1-9][0-9]{3}", number) is not None and int(number) in _YEARS
    return " ".join(number_words(number, "", None, first=True, negative=not is_year))


def quantity(number: str) -> str:
    """The same where a year is out of place: "2000" -> "two thousand"."""
    return " ".join(number_words(number, "", None, first=True, negative=True))


def code(digits: str) -> str:
    """Digits after a letter: "22" -> "twenty two", "105" -> "one O five", "0199" -> "zero one nine nine"."""
    return " ".join(number_words(digits, "", None, first=False, negative=True))


def spelled(digits: str) -> str:
    """Every digit by its name; groups of them, with anything between, have a comma between."""
    return ", ".join(" ".join(digit_names(group)) for group in re.findall("[0-9]+", digits))


def version(number: str) -> str:
    """Parts between points: "1.2.10" -> "one point two point ten"."""
    return " point ".join(map(quantity, number.split(".")))


def name_parts(number: str) -> str:
    """What follows the name of a model, part by part: "3.1-8" -> "three point one eight"."""
    return " ".join(map(_release, number.split("-")))


def _release(number: str) -> str:
    whole, *rest = number.split(".")
    if len(rest) > 1:
        return version(number)
    return " point ".join([code(whole), *(" ".join(digit_names(part)) for part in rest)])


def dotted(address: str) -> str:
    """A numeric address: "192.168.1.1" -> "one ninety two dot one sixty eight dot one dot one"."""
    return " dot ".join(map(code, address.split(".")))


def rank(number: str) -> str:
    """An ordinal: "21" -> "twenty first"."""
    return " ".join(number_words(number.replace(",", ""), "th", None, first=True, negative=True))


def counted(number: str, forms: Sequence[str]) -> str:
    """A quantity with its unit, `forms` = singular, plural."""
    return f"{quantity(number)} {forms[0] if number == '1' else forms[1]}"


def amount(number: str, currency: str, magnitude: str | None) -> str:
    """Money: "3.20", "€" -> "three euros and twenty cents"; "1.5", "$", "M" -> "one point five million dollars"."""
    one, many, part, parts = CURRENCIES[currency]
    if magnitude:
        return f"{quantity(number)} {MONEY_MAGNITUDES[magnitude]} {many}"
    whole, _, fraction = number.partition(".")
    if not part or len(fraction) != 2 or not whole:
        return counted(number, (one, many))
    words = [counted(whole, (one, many))] if whole.strip("0,") or not fraction.strip("0") else []
    if fraction.strip("0"):
        words.append(counted(str(int(fraction)), (part, parts)))
    return " and ".join(words)


def fraction(top: str, bottom: str) -> str:
    """Parts of a whole: "3", "4" -> "three quarters"; what is no proper fraction is read as written."""
    n, d = int(top), int(bottom)
    if not 0 < n < d <= _MAX_DENOMINATOR:
        return f"{quantity(top)} slash {quantity(bottom)}"
    name = {2: "half", 4: "quarter"}.get(d) or rank(bottom)
    return f"{cardinal(n)} {name if n == 1 else 'halves' if d == 2 else name + 's'}"


def slashed(reader: DateReader, top: str, bottom: str, dated: bool) -> str:
    """Two numbers with a slash: "3/4" -> "three quarters", "50/50" -> "fifty fifty", "12/25" -> a date.

    Args:
        reader: Of dates.
        top: Before the slash.
        bottom: After it.
        dated: Whether a date is expected there: "on 1/2" -> "on January second".
    """
    if pair := PAIRS.get(f"{top}/{bottom}"):
        return pair
    n, d = int(top), int(bottom)
    day = date(reader, None, top, bottom)
    if day and dated:
        return day
    if n == d or (n + d == 100 and min(n, d) >= _MIN_SHARE):
        return f"{quantity(top)} {quantity(bottom)}"
    is_fraction = n == 1 or d in DENOMINATORS
    return day if day and not is_fraction else fraction(top, bottom)


def side(digits: str, is_long: bool) -> str:
    """One of the numbers of "1920x1080", of which those with three and four digits are read in pairs if all are."""
    if not is_long:
        return plain(digits)
    return " ".join(number_words(digits, "", None, first=len(digits) == 4, negative=False))


def decade(number: str) -> str:
    """Ten years: "1990" -> "nineteen nineties"."""
    words = plain(number)
    return words[:-1] + "ies" if words.endswith("y") else words + "s"


def power(number: str, sign: str, exponent: str) -> str:
    """Scientific notation: "1.5", "-", "6" -> "one point five times ten to the minus sixth"."""
    return f"{quantity(number)} times ten to the {'minus ' if sign == '-' else ''}{rank(exponent)}"


def clock(m: re.Match[str]) -> str | None:
    """Groups hour, minute, second, "a" or "p": "3:05pm" -> "three oh five PM"; None for an impossible time."""
    words = read_time(m)
    return None if words == m[0] else re.sub(r"([AP])\.M\.?$", r"\1M", words)


def hour(m: re.Match[str]) -> str | None:
    """Groups hour, "a" or "p": "3 pm" -> "three PM"."""
    return f"{cardinal(int(m[1]))} {m[2].upper()}M" if 1 <= int(m[1]) <= 12 else None


def date(reader: DateReader, year_digits: str | None, month: str, day: str) -> str | None:
    """A date: "2024", "10", "1" -> "October first, twenty twenty-four"; None if there is no such day."""
    if year_digits and len(year_digits) == 2:
        year_digits = ("19" if int(year_digits) > 30 else "20") + year_digits
    return reader.date(year(int(year_digits)) if year_digits else "", int(month), int(day))


def day_of_month(day: str, month: str, year_digits: str | None) -> str | None:
    """A date, day first: "1", "October", "2024" -> "the first of October, twenty twenty-four"."""
    if not 1 <= int(day) <= 31:
        return None
    return f"the {ordinal(int(day))} of {month}" + (f", {year(int(year_digits))}" if year_digits else "")
