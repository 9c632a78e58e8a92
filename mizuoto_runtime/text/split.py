"""Splits long text into pieces that an engine can speak at once, without weights and for any language.

Where text may be cut is the business of `boundaries`; this module chooses among the places.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from .boundaries import Strength, places
from .graphemes import is_joined

_MIN_FILL = {Strength.PARAGRAPH: 0.25, Strength.SENTENCE: 0.25, Strength.CLAUSE: 0.5, Strength.SPACE: 0.5}
"""A place is preferred to weaker ones if the piece before it fills this share of what would fit."""


def split(text: str, limit: int, measure: Callable[[str], int] = len) -> list[str]:
    """Pieces of `text`, in order, whose concatenation is `text`; [] for "".

    A piece ends after a paragraph, a sentence, a clause or a word, in this order of preference, and the last two are
    balanced so that no scrap is left over. Numbers, abbreviations, addresses and [bracket tags] stay whole, and so do
    words, unless one alone exceeds the limit: then it is cut between characters.

    Args:
        text: Any text.
        limit: The most that a piece may measure; 0 for no limit.
        measure: Size of a text in the unit of `limit`; a longer text must not measure less than its beginning. It is
            called a few times a piece, on texts of about a piece's length.

    Returns:
        The pieces. None measures more than `limit`, except a single code point that does so by itself.

    Raises:
        ValueError: `limit` is negative.
    """
    if limit < 0:
        raise ValueError(f"The limit of a split must be 0 (none) or more, not {limit}.")
    if not text:
        return []
    if limit == 0:
        return [text]
    splitter = _Splitter(text, limit, measure)
    pieces: list[str] = []
    start = 0
    while start < len(text):
        end = splitter.next_cut(start)
        pieces.append(text[start:end])
        start = end
    return pieces


def is_speakable(text: str) -> bool:
    """Whether `text` holds a letter or a digit of any script: something to say beyond punctuation and emoji."""
    return any(c.isalnum() for c in text)


class _Splitter:
    def __init__(self, text: str, limit: int, measure: Callable[[str], int]):
        self._text, self._limit, self._measure = text, limit, measure
        self._usual = limit  # characters that fit into a piece; learnt from the pieces so far
        self._places = places(text)
        self._ahead: deque[tuple[int, Strength]] = deque()  # places read so far that lie after the last cut

    def next_cut(self, start: int) -> int:
        """The end of the piece that starts at `start`."""
        text = self._text
        reach = self._reach(start)
        if reach == len(text):
            return reach
        found = self._places_within(start, reach)
        full = reach - start
        if len(text) - start <= 3 * full and self._reach(reach) == len(text):
            cut = self._balanced(found, start, full)
            if cut is not None:
                return cut
        return self._latest(found, start, full) or self._inside_word(start, reach)

    def _places_within(self, start: int, reach: int) -> list[tuple[int, Strength]]:
        while not self._ahead or self._ahead[-1][0] <= reach:
            place = next(self._places, None)
            if place is None:
                break
            self._ahead.append(place)
        while self._ahead and self._ahead[0][0] <= start:
            self._ahead.popleft()
        return [place for place in self._ahead if place[0] <= reach]

    def _fits(self, start: int, end: int) -> bool:
        return self._measure(self._text[start:end]) <= self._limit

    def _reach(self, start: int) -> int:
        """The farthest end of a piece from `start` that fits, at least one code point on."""
        low, high = start + 1, len(self._text)  # low is taken even if it does not fit
        has_fit = has_failed = False
        step = 1
        # From the usual length outwards, so that few texts are measured and none that is much longer than a piece.
        while low < high:
            if has_fit and has_failed:
                end = (low + high + 1) // 2
            elif has_fit:
                end = min(high, low + step)
            elif has_failed:
                end = max(low + 1, high - step)
            else:
                end = min(high, max(low + 1, start + self._usual))
            if self._fits(start, end):
                low, has_fit = end, True
            else:
                high, has_failed = end - 1, True
            step *= 2
        self._usual = low - start
        return low

    def _balanced(self, found: Sequence[tuple[int, Strength]], start: int, full: int) -> int | None:
        """The cut of a rest that makes two pieces: the strongest that leaves no scrap, of equals nearest the middle.

        Where all leave one, the cut that leaves the largest.
        """
        end = len(self._text)
        middle = (start + end) / 2

        def rank(place: tuple[int, Strength]) -> tuple[bool, int, float]:
            at, strength = place
            smaller = min(at - start, end - at)
            is_scrap = smaller < full / 4
            return is_scrap, -smaller if is_scrap else -strength, abs(at - middle)

        return next((at for at, _ in sorted(found, key=rank) if self._fits(at, end)), None)

    @staticmethod
    def _latest(found: Sequence[tuple[int, Strength]], start: int, full: int) -> int | None:
        """The last of the strongest places that leave no scrap; failing that, the last place at all."""
        for wanted, share in _MIN_FILL.items():
            for at, strength in reversed(found):
                if strength >= wanted and at - start >= share * full:
                    return at
        return found[-1][0] if found else None

    def _inside_word(self, start: int, reach: int) -> int:
        """The last resort: at white space where a tag or an abbreviation should stay whole, else between characters."""
        text = self._text
        head = text[start:reach]
        indent = len(head) - len(head.lstrip())
        for at in range(reach, start + indent + 1, -1):
            if text[at - 1].isspace():
                return at
        for at in range(reach, start, -1):
            if not is_joined(text, at, start):
                return at
        return reach
