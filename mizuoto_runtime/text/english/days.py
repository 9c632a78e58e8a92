"""Abbreviated days of the week in full, where a day is meant: "Sun" is also a star; "Sat", "Wed", "Mon" are words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_SURE = ("Tues", "Tue", "Thurs", "Thur", "Thu", "Fri")
"""Are hardly ever something else; a name may follow ("Thu Nguyen")."""
_UNSURE = ("Mon", "Wed", "Sat", "Sun")
_BEFORE_DAY = ("on", "by", "until", "till", "since", "from", "every", "each", "next", "last", "this")


class DayReader:
    """Writes days in full; where a point is no end of a sentence, they are left to the table of abbreviations.

    Args:
        abbreviations: "Mon." -> "Monday" and so on, among other things.
        months: Written forms of the months.
    """

    def __init__(self, abbreviations: Mapping[str, str], months: Iterable[str]):
        names = [name for name in abbreviations.values() if name.endswith("day")]
        self._full = {short: next(n for n in names if n.startswith(short)) for short in (*_SURE, *_UNSURE)}
        short, month = "|".join([*_SURE, *_UNSURE]), "|".join(months)
        sure, unsure = "|".join(_SURE), "|".join(_UNSURE)
        day = rf"(?:{short}|{'|'.join(dict.fromkeys(names))})\b"
        date = (
            rf"\d{{1,2}}:\d\d|\d{{1,2}}/\d|\d{{4}}-\d|\d{{1,2}} ?[AaPp]\.?[Mm]\b"
            rf"|(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{month})\b|\d{{1,2}}(?:st|nd|rd|th)\b|(?:{month})\.? \d"
        )
        before = "|".join(rf"(?<=\b{w} )|(?<=\b{w.capitalize()} )" for w in _BEFORE_DAY)
        plain = rf"\b(?!['’.\-/]\w| [A-Z]|\. (?:[a-z\d]|(?:{month})\b))"
        self._list = re.compile(rf"\b{day}(?:(?: ?[-–/] ?|, | and | & | to | or |, and ){day}(?!['’]\w))+")
        self._single = re.compile(
            rf"\b({short})(?=,? (?:{date}))|\b({sure}){plain}|(?:{before})({unsure}){plain}|^(Mon|Wed)(?=,|[.!?]?$)"
        )
        self._short = re.compile(rf"\b({short})\b")

    def __call__(self, text: str) -> str:
        """`text` with the days that are meant as such in full, and "Mon-Fri" as "Monday to Friday"."""
        text = self._list.sub(lambda m: self._in_full(m[0]), text)
        return self._single.sub(lambda m: self._full[m[0]], text)

    def _in_full(self, days: str) -> str:
        days = self._short.sub(lambda m: self._full[m[0]], days)
        return re.sub(r" ?/ ?", ", ", re.sub(r" ?[-–] ?", " to ", days))
