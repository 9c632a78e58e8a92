"""From a text with marks to what an engine is asked to say: lines of a size that it takes, and pauses between them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from .marks import PLAIN, BadMark, Manner, Part, Pause, Speech
from .pauses import PARAGRAPH_PAUSE_S, SENTENCE_PAUSE_S, pause_after
from .split import is_speakable, split

_PARAGRAPH = re.compile(r"\n\s*\n|\u2029|\f")
_LEADING = " ,;:，、；："  # what belongs to the words before a pause


@dataclass(frozen=True, slots=True)
class Line:
    """One utterance.

    Attributes:
        text: What the engine gets, no white space around it.
        manner: Who says it, and how.
        line: Of the script that it is a part of; 0 where the text is no script.
    """

    text: str
    manner: Manner = PLAIN
    line: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that is to be said, in order.

    Attributes:
        items: Lines and pauses; never two pauses next to each other.
        unread: Marks that could not be followed.
    """

    items: tuple[Line | Pause, ...]
    unread: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[Line, ...]:
        """The items that are spoken."""
        return tuple(item for item in self.items if isinstance(item, Line))


def plan(
    parts: Iterable[Part],
    limit: int,
    measure: Callable[[str], int] = len,
    prepare: Callable[[str, str], str] = lambda text, language: text,
) -> Plan:
    """The lines and pauses of a text whose marks have been read.

    What has no letter or digit is not spoken. Of pauses next to each other the longest counts. Where a paragraph ends
    there is one, and where a line or a speaker ends without a mark that gives one.

    Args:
        parts: From `read_marks` or `read_script`.
        limit: The most that a line may measure; 0 for no limit.
        measure: Size of a text, as in `split`.
        prepare: (text, language or "") -> the text as the engine wants it; applied before it is cut.
    """
    seen = list(parts)
    items = _Items()
    for part in _merged(part for part in seen if not isinstance(part, BadMark)):
        if isinstance(part, Pause):
            items.add_pause(part)
            continue
        for piece in split(prepare(part.text, part.manner.language), limit, measure):
            items.add(piece, part)
    return Plan(tuple(items.items), tuple(part.text for part in seen if isinstance(part, BadMark)))


class _Items:
    """Lines and pauses so far, with pauses where the punctuation alone would give too short a one."""

    def __init__(self) -> None:
        self.items: list[Line | Pause] = []
        self._between = ""  # the white space, and what has no words, since the last line

    def add_pause(self, pause: Pause) -> None:
        """The longest of pauses side by side."""
        last = self.items[-1] if self.items else None
        if isinstance(last, Pause):
            self.items[-1] = Pause(max(last.seconds, pause.seconds))
        else:
            self.items.append(pause)

    def add(self, piece: str, part: Speech) -> None:
        """A piece of a stretch."""
        if not is_speakable(piece):
            self._between += piece
            return
        text = piece.strip()
        line = Line(text if self._follows_a_line() else text.lstrip(_LEADING), part.manner, part.line)
        self._pause_before(line)
        self.items.append(line)
        self._between = piece[len(piece.rstrip()) :]

    def _follows_a_line(self) -> bool:
        return bool(self.items) and isinstance(self.items[-1], Line)

    def _pause_before(self, line: Line) -> None:
        last = self.items[-1] if self.items else None
        if not isinstance(last, Line):
            return
        if _PARAGRAPH.search(self._between):
            self.items.append(Pause(PARAGRAPH_PAUSE_S))
            return
        is_end = "\n" in self._between or (last.manner, last.line) != (line.manner, line.line)
        if is_end and pause_after(last.text) < SENTENCE_PAUSE_S:
            self.items.append(Pause(SENTENCE_PAUSE_S))


def _merged(parts: Iterable[Speech | Pause]) -> Iterator[Speech | Pause]:
    """Neighbours that are spoken alike as one stretch, so that a sentence is not cut where a bad mark was."""
    for alike, group in groupby(parts, key=lambda part: (part.manner, part.line) if isinstance(part, Speech) else None):
        if alike is None:
            yield from group
        else:
            yield Speech("".join(part.text for part in group if isinstance(part, Speech)), *alike)
