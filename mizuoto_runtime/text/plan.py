"""From a text with marks to what an engine is asked to say: lines of a size that it takes, and pauses between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from .marks import PLAIN, BadMark, Manner, Pause, Speech
from .split import is_speakable, split

Part = Speech | Pause | BadMark


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

    What has no letter or digit is not spoken. Of pauses next to each other the longest counts.

    Args:
        parts: From `read_marks` or `read_script`.
        limit: The most that a line may measure; 0 for no limit.
        measure: Size of a text, as in `split`.
        prepare: (text, language or "") -> the text as the engine wants it; applied before it is cut.
    """
    seen = list(parts)
    items: list[Line | Pause] = []
    for part in _merged(part for part in seen if not isinstance(part, BadMark)):
        if isinstance(part, Pause):
            last = items[-1] if items else None
            if isinstance(last, Pause):
                items[-1] = Pause(max(last.seconds, part.seconds))
            else:
                items.append(part)
        else:
            pieces = split(prepare(part.text, part.manner.language), limit, measure)
            items += [Line(piece.strip(), part.manner, part.line) for piece in pieces if is_speakable(piece)]
    return Plan(tuple(items), tuple(part.text for part in seen if isinstance(part, BadMark)))


def _merged(parts: Iterable[Speech | Pause]) -> Iterator[Speech | Pause]:
    """Neighbours that are spoken alike as one stretch, so that a sentence is not cut where a bad mark was."""
    for alike, group in groupby(parts, key=lambda part: (part.manner, part.line) if isinstance(part, Speech) else None):
        if alike is None:
            yield from group
        else:
            yield Speech("".join(part.text for part in group if isinstance(part, Speech)), *alike)
