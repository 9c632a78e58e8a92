"""Written forms that a word list cannot read, rewritten as words: times, dates, money, units, abbreviations, signs.

Plain numbers, years and $, £, € amounts stay: their reading depends on the sentence, and the lexicon reads them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .dates import DateReader, read_time
from .days import DayReader
from .digits import CURRENCIES, is_grouped
from .numbers import ordinal
from .roman import ROMAN, roman_value

_Action = Callable[[re.Match[str]], str]

_NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
_MAGNITUDE = r"(?:\s?(hundred|thousand|million|billion|trillion|(?:[kKmMbB]|[mbt]n)\b))"
_MAGNITUDES = {"k": "thousand", "m": "million", "b": "billion", "mn": "million", "bn": "billion", "tn": "trillion"}
_ENDS = r"(?!\w|[.\-]\w)"  # nothing of the same expression follows; a full stop may
_SIGN = f"[{''.join(CURRENCIES)}]"
_TIME_RANGE = (
    r"(?<=\d)(\s?[AaPp]\.?[Mm]\.?)\s?[-–]\s?(?=\d{1,2}(?!\d))"  # "9 am - 5 pm"
    r"|(?<=\d:\d\d)(?:\s?[-–]\s?(?=\d{1,2}:\d\d)|[-–](?=\d{1,2}(?![\d:\-])))"  # "9:00 - 11:30", "9:00-11"
    r"|(?<![\d:.,/\-–$£€])(\d{1,2})[-–](?=\d{1,2}:\d\d(?!\d))"  # "9-11:30"
)
_COUNTRIES = {"US": "US", "C": "Canadian", "CA": "Canadian", "A": "Australian", "AU": "Australian"}
_FRACTIONS = ("", "", "half", "third", "quarter", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_INFIX_SIGNS = frozenset("=<>~")  # read only between two things
_TYPOGRAPHY = {0x2019: "'", 0x2012: "-", 0x2015: "—"}


def _any_of(words: Iterable[str]) -> str:
    return "|".join(re.escape(w) for w in sorted(words, key=len, reverse=True))


def _counted(number: str, forms: Sequence[str]) -> str:
    """`forms` = singular, plural."""
    one = number.replace(",", "") in ("1", "1.0", "-1")
    return f"{number} {forms[0 if one else 1]}"


def _grouped(number: str) -> str:
    """Four digits with a comma, without which they are a year: "1,999 yen"."""
    return f"{number[0]},{number[1:]}" if re.fullmatch(r"[1-9]\d{3}", number) else number


def _listed(m: re.Match[str]) -> str:
    """Numbers with commas between them that are no groups of thousands are a list: "1,2,3"."""
    return m[0] if is_grouped(m[0]) else m[0].replace(",", ", ")


def _magnitude(word: str) -> str:
    return _MAGNITUDES.get(word.lower(), word)


def _degrees(m: re.Match[str]) -> str:
    scale = {"C": " Celsius", "F": " Fahrenheit"}.get(m[2] or "", "")
    return _counted(m[1], ("degree", "degrees")) + scale


class Normaliser:
    """Rewrites one line of text; the tables are those of `normalize.json`."""

    def __init__(self, tables: Mapping[str, Any]):
        self._tables = tables
        self._dates = DateReader(tables["months"])
        self._days = DayReader(tables["abbreviations"], self._month_forms())
        # The order matters: money where its sign is at once; whole dates before money and units; months before
        # abbreviations; all before lone signs.
        steps = [
            *self._ranges_and_signs(),
            *self._whole_dates(),
            *self._amounts(),
            *self._month_dates(),
            *self._names(),
            *self._number_signs(),
        ]
        self._steps = [(re.compile(pattern), action) for pattern, action in steps]

    def __call__(self, text: str) -> str:
        """`text` on one line, with its special forms in words."""
        text = re.sub(r"\s+", " ", text).strip().translate(_TYPOGRAPHY)
        text = self._days(text)
        for pattern, action in self._steps:
            text = pattern.sub(action, text)
        for sign, word in self._tables["symbols"].items():
            if sign in text:
                where = rf"(?<=\S) ?{re.escape(sign)} ?(?=\S)" if sign in _INFIX_SIGNS else re.escape(sign)
                text = re.sub(where, f" {word} " if word else " ", text)
        text = re.sub(r"\s+", " ", text)
        return re.sub(r" ([,.;:!?])(?!\d)", r"\1", text).strip()

    def _month_forms(self) -> list[str]:
        months = self._tables["months"]
        return [*months.values(), *(m.capitalize() for m in months), "Sept"]

    def _ranges_and_signs(self) -> list[tuple[str, _Action]]:
        magnitude = rf"{_MAGNITUDE}?"
        return [
            (r"(?<![\d.,/=])\d+(?:,\d+)+", _listed),
            (_TIME_RANGE, lambda m: f"{m[1] or m[2] or ''} to "),
            (r"(?<![\w.:])(\d{1,2})\s?([AaPp])[Mm](?![\w.])", lambda m: f"{m[1]} {m[2].upper()}.M."),
            # A sign after the number goes before it: "5€", "5 €", but not "5 $10 notes".
            (
                rf"(?<![\w.,$£€])(?:({_NUMBER})[-–])?({_NUMBER}){magnitude}\s?({_SIGN})(?![\w$£€]|\s?\d)",
                self._sign_first,
            ),
            (rf"(?<!\w)-({_SIGN})(?=\d)", lambda m: f"{m[1]}-"),
            (
                rf"(?<![\w\-–])({_SIGN})({_NUMBER}){magnitude}(?:[-–]\1?|\s?[-–]\s?\1)({_NUMBER})(?![\d\-–]|[.,]\d)",
                self._money_range,
            ),
            (
                rf"(?<!\w)({_any_of(_COUNTRIES)})\$\s?(?:({_NUMBER}){magnitude}[-–](?:\1\$)?)?({_NUMBER}){magnitude}",
                self._foreign_money,
            ),
        ]

    def _whole_dates(self) -> list[tuple[str, _Action]]:
        return [
            (r"\b(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\s?([AaPp])\.?[Mm]\.?(?![A-Za-z]))?(?!\d)", read_time),
            (r"\b(\d{4})-(\d{2})-(\d{2})\b", self._dates.iso),
            (r"\b(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})\b", self._dates.slashed),
        ]

    def _amounts(self) -> list[tuple[str, _Action]]:
        cents, units = self._tables["currency"]["¢"], self._tables["units"]
        return [
            (rf"([$£€])({_NUMBER}){_MAGNITUDE}", self._large_money),
            (rf"(?<![\w.])({_NUMBER})\s?¢", lambda m: _counted(m[1], cents)),
            (rf"(?<![\w])([¥₹₩]|Rs\.?|USD|EUR|GBP)\s?({_NUMBER}){_MAGNITUDE}?", self._money),
            (rf"(?<![\w.])(-?{_NUMBER})\s?°\s?([CF])?(?![\w])", _degrees),
            (rf"(?<![\w.])(-?{_NUMBER})\s?({_any_of(units)})(?![\w])", lambda m: _counted(m[1], units[m[2]])),
        ]

    def _month_dates(self) -> list[tuple[str, _Action]]:
        month = _any_of(self._month_forms())
        return [
            (rf"\b({month})\.? (\d{{1,2}})(?:st|nd|rd|th)?\b(?![\d:%])(,? \d{{4}}\b)?", self._dates.month_day),
            (rf"\b(?:the )?(\d{{1,2}}) (?:of )?({month})\b\.?", self._dates.day_month),
        ]

    def _names(self) -> list[tuple[str, _Action]]:
        titles = self._tables["titles"]
        cardinals, ordinals = _any_of(self._tables["roman_cardinal"]), _any_of(self._tables["roman_ordinal"])
        return [
            (rf"\b({_any_of(titles)})\.? (?=[A-Z])", lambda m: titles[m[1]] + " "),
            (rf"(?<![\w.])({_any_of(self._tables['abbreviations'])})(?![\w])", self._abbreviation),
            (r"\b(No|Nos)\. ?(?=\d)", lambda m: "Number " if m[1] == "No" else "Numbers "),
            (r"(?<![\w&])#(?=\d)", lambda m: "number "),
            (rf"\b({cardinals}) {ROMAN}", lambda m: f"{m[1]} {roman_value(m[2])}"),
            (rf"\b({ordinals}) {ROMAN}", lambda m: f"{m[1]} the {ordinal(roman_value(m[2]))}"),
        ]

    def _number_signs(self) -> list[tuple[str, _Action]]:
        return [
            (rf"(?<![\w.\-])(?:(?:1-)?\d{{3}}-)?\d{{3}}-\d{{4}}{_ENDS}", lambda m: " ".join(m[0].replace("-", ", "))),
            (rf"(?<![\w./])24/7{_ENDS}", lambda m: "twenty-four seven"),
            (rf"(?<![\w./])(\d{{1,2}})/(\d{{1,2}})(?!/){_ENDS}", self._fraction),
            (rf"(?<![\w.\-])(\d{{1,4}})\s?[-–]\s?(\d{{1,4}})(?!%){_ENDS}", lambda m: f"{m[1]} to {m[2]}"),
            (r"(?<![\w+])\+(?=\d)", lambda m: "plus "),
            (r"\s-{2,3}\s|(?<=\w)-{2,3}(?=\w)", lambda m: " — "),  # a typewritten dash is a pause
        ]

    def _sign_first(self, m: re.Match[str]) -> str:
        low, number, magnitude, sign = m.groups()
        start = f"{_grouped(low)} to " if low else ""
        return f"{start}{sign}{number}" + (f" {_magnitude(magnitude)}" if magnitude else "")

    def _foreign_money(self, m: re.Match[str]) -> str:
        country, low, low_magnitude, high, magnitude = m.groups()
        forms = [f"{_COUNTRIES[country]} {unit}" for unit in self._tables["currency"]["$"]]
        start = " ".join(filter(None, [_grouped(low), _magnitude(low_magnitude or "")])) + " to " if low else ""
        return start + self._amount(high, magnitude, forms)

    def _money_range(self, m: re.Match[str]) -> str:
        sign, low, magnitude, high = m.groups()
        if magnitude:
            return f"{low} {_magnitude(magnitude)} to {sign}{high}"
        # Cents are only read with their sign.
        return f"{sign}{low} to {sign}{high}" if "." in low else f"{_grouped(low)} to {sign}{high}"

    def _large_money(self, m: re.Match[str]) -> str:
        return self._amount(m[2], m[3], self._tables["currency"][m[1]])

    def _money(self, m: re.Match[str]) -> str:
        return self._amount(m[2], m[3], self._tables["currency"][m[1].rstrip(".")])

    def _amount(self, number: str, magnitude: str | None, forms: Sequence[str]) -> str:
        if magnitude:
            return f"{_grouped(number)} {_magnitude(magnitude)} {forms[1]}"
        return _counted(_grouped(number), forms)

    def _abbreviation(self, m: re.Match[str]) -> str:
        if m[1] == "Sun." and m.string[max(0, m.start() - 4) : m.start()].lower() == "the ":
            return m[0]
        ends_text = m.end() == len(m.string) and m[1].endswith(".")  # its point also ended the sentence
        return str(self._tables["abbreviations"][m[1]]) + ("." if ends_text else "")

    def _fraction(self, m: re.Match[str]) -> str:
        top, bottom = int(m[1]), int(m[2])
        if 0 < top < bottom <= 10:
            if bottom == 2:
                return "one half"
            return f"{top} {_FRACTIONS[bottom]}{'' if top == 1 else 's'}"
        return self._dates.date("", top, bottom) or f"{top} slash {bottom}"
