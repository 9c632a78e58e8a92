"""Short days of the week in full, read where they stand: a whole text would take the reader too long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from ..english.days import DayReader
from .english_tables import month_names, shared_tables

_SHORT = re.compile(r"\b(?:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)\b")
_BEFORE, _AFTER = 32, 64  # characters that matter to a day


@cache
def _reader() -> DayReader:
    return DayReader(shared_tables()["abbreviations"], month_names())


def read_days(text: str) -> str:
    """`text` with "Mon", "Tue" and so on in full where a day is meant, and "Mon-Fri" as "Monday to Friday"."""
    out: list[str] = []
    done = 0
    for start, end in _windows(text):
        out += [text[done:start], _reader()(text[start:end])]
        done = end
    return "".join([*out, text[done:]]) if out else text


def _windows(text: str) -> Iterator[tuple[int, int]]:
    """Where short days stand, with what matters around them; no two overlap, and none cuts a word at its end."""
    start = end = -1
    for m in _SHORT.finditer(text):
        if end < 0 or m.start() - _BEFORE > end:
            if end > 0:
                yield start, end
            start = max(0, m.start() - _BEFORE)
        end = text.find(" ", m.end() + _AFTER)
        if end < 0:
            end = len(text)
    if end > 0:
        yield start, end
