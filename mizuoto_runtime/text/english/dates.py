"""Dates and clock times in words, for the normaliser."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .numbers import cardinal, ordinal


def read_time(m: re.Match[str]) -> str:
    """Groups hour, minute, second, half of the day: "9:05 pm" -> "nine oh five P.M."; impossible times stay."""
    hour, minute = int(m[1]), int(m[2])
    second = int(m[3]) if m[3] else None
    half = m[4]
    if hour > 24 or minute > 59 or (second or 0) > 59:
        return m[0]
    words = [cardinal(hour)]
    if minute:
        words += [*(["oh"] if minute < 10 else []), cardinal(minute)]
    elif not half and second is None:
        words.append("o'clock")
    if second is not None:
        words.append(f"and {cardinal(second)} second{'' if second == 1 else 's'}")
    if half:
        # The lexicon spells dotted letters; a full stop that already follows is the missing last dot.
        dot = "" if m.string[m.end() : m.end() + 1] == "." else "."
        words.append(f"{half.upper()}.M{dot}")
    return " ".join(words)


class DateReader:
    """Turns matched dates into words; what is no date stays as it was.

    Args:
        months: "jan" -> "January" and so on, in the order of the year.
    """

    def __init__(self, months: Mapping[str, str]):
        self._by_prefix = months
        self._names = list(months.values())

    def date(self, year_text: str, month: int, day: int) -> str | None:
        """A date such as "May fifth, 1999", or None if there is no such month or day."""
        if not (1 <= month <= 12 and 1 <= day <= 31):
            return None
        return f"{self._names[month - 1]} {ordinal(day)}" + (f", {year_text}" if year_text else "")

    def iso(self, m: re.Match[str]) -> str:
        """Groups year, month, day: "1999-05-05"."""
        return self.date(m[1], int(m[2]), int(m[3])) or m[0]

    def slashed(self, m: re.Match[str]) -> str:
        """Groups first, second, year: American order, unless only the second can be the month."""
        first, second, year_text = int(m[1]), int(m[2]), m[3]
        if len(year_text) == 2:
            year_text = ("19" if int(year_text) > 30 else "20") + year_text
        month, day = (first, second) if first <= 12 else (second, first)
        return self.date(year_text, month, day) or m[0]

    def month_day(self, m: re.Match[str]) -> str:
        """Groups month name, day, year with its comma or None: "Jan. 5, 1999"."""
        day = int(m[2])
        return f"{self._full(m[1])} {ordinal(day)}{m[3] or ''}" if 1 <= day <= 31 else m[0]

    def day_month(self, m: re.Match[str]) -> str:
        """Groups day, month name: "5 January"."""
        day = int(m[1])
        return f"the {ordinal(day)} of {self._full(m[2])}" if 1 <= day <= 31 else m[0]

    def _full(self, name: str) -> str:
        return self._by_prefix[name.lower()[:3]]
