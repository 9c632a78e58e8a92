"""The mechanism of both languages: rules that start at a character, applied in one pass from left to right."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

DIGITS = "0123456789"
EAST_ASIAN = "\u2e80"
"""From this character on scripts put no spaces between words, as far as it matters here."""

HAN = "\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Ideographs, as the inside of a regular-expression set."""

_HAN = re.compile(f"[{HAN}]")
_HAN_AFTER = re.compile(rf"(?:[^\w\s]|[\d_]){{0,24}}[{HAN}]")
_UNIT = r"(?<=[0-9])[A-Za-z]{1,3}(?![A-Za-z0-9])"
_LETTER_AFTER = re.compile(rf"(?:\W|[\d_]|{_UNIT}){{0,24}}([^\W\d_])")
_AFTER_UNIT = re.compile(r"[0-9][A-Za-z]{1,3}\Z")
_REACH = 24  # characters looked at on each side for the language of a number


_Match = Callable[[str, int], "re.Match[str] | None"]
_Read = Callable[["re.Match[str]"], "str | None"]


@dataclass(frozen=True, slots=True)
class Rule:
    """Something that is read in another way than it is written.

    Attributes:
        first: The characters its matches start with.
        pattern: What it matches there.
        read: The words for a match, "" for silence, or None if it is not what the rule is about after all.
    """

    first: str
    pattern: re.Pattern[str]
    read: Callable[[re.Match[str]], str | None]


def rule(first: str, pattern: str, read: Callable[[re.Match[str]], str | None] | str) -> Rule:
    """A `Rule` from the text of its pattern; `read` may be the words."""
    return Rule(first, re.compile(pattern), (lambda _: read) if isinstance(read, str) else read)


def any_of(words: Iterable[str]) -> str:
    """A pattern for one of `words`, the longest first."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


class Rules:
    """Rules in order of precedence, found by the character that a match starts with."""

    def __init__(self, rules: Sequence[Rule]):
        self._by_first: dict[str, list[tuple[_Match, _Read]]] = {}  # bound once: a number tries some thirty
        for one in rules:
            for first in dict.fromkeys(one.first):
                self._by_first.setdefault(first, []).append((one.pattern.match, one.read))
        self.first = "".join(self._by_first)
        """Every character that a match may start with."""

    def read(self, text: str, at: int) -> tuple[str, int] | None:
        """Words for what starts at `at` and where it ends; None if no rule has a reading."""
        for match, read in self._by_first.get(text[at], ()):
            m = match(text, at)
            if m is not None:
                words = read(m)
                if words is not None:
                    return words, m.end()
        return None


def rewrite(text: str, starts: re.Pattern[str], choose: Callable[[str, int], Rules]) -> str:
    """`text` with what rules can read in words; words that would run into a letter get a space.

    Args:
        text: What to read; it is seen once, and no reading is read again.
        starts: Finds the characters at which rules may match.
        choose: text, position -> the rules for this place.
    """
    out: list[str] = []
    done = at = 0
    while (m := starts.search(text, at)) is not None:
        at = m.start()
        found = choose(text, at).read(text, at)
        if found is None:
            at += 1
            continue
        words, end = found
        if at > done:
            out.append(text[done:at])
        done = at = end
        if words:
            if out and _would_join(out[-1][-1], words[0]):
                out.append(" ")
            out.append(words)
            if end < len(text) and _would_join(words[-1], text[end]):
                out.append(" ")
    out.append(text[done:])
    return "".join(out)


def stands_behind(pattern: re.Pattern[str], m: re.Match[str]) -> bool:
    """Whether `pattern`, which has to end in an end of text, matches what is written right before the match `m`."""
    return pattern.search(m.string, max(0, m.start() - _REACH), m.start()) is not None


def _would_join(before: str, after: str) -> bool:
    return before.isalnum() and after.isalnum() and before < EAST_ASIAN and after < EAST_ASIAN


def has_han(text: str) -> bool:
    """Whether `text` holds an ideograph."""
    return not text.isascii() and _HAN.search(text) is not None


def touches_han(text: str, at: int) -> bool:
    """Whether what is written without spaces around `at` has an ideograph as its nearest letter on one side."""
    if _HAN_AFTER.match(text, at):
        return True
    left = _letter_before(text, at)
    return _is_han(text[left]) and not any(map(str.isspace, text[left:at])) if left >= 0 else False


def is_among_words(text: str, at: int) -> bool:
    """Whether the nearest letters on both sides of `at` are no ideographs, or one is written right before it.

    Units, that is one to three letters behind a digit, do not count.
    """
    left = _letter_before(text, at, skip_units=True)
    if left < 0 or _is_han(text[left]):
        return False
    if text[left + 1 : at] in ("", "-"):
        return True
    right = _LETTER_AFTER.match(text, at)
    return right is not None and not _is_han(right[1])


def has_han_near(text: str, at: int) -> bool:
    """Whether an ideograph is written within a few words of `at`."""
    return _HAN.search(text, max(0, at - _REACH), at + _REACH) is not None


def _letter_before(text: str, at: int, skip_units: bool = False) -> int:
    """Where the last letter before `at` is, or -1 if it is far."""
    i, far = at - 1, max(-1, at - 1 - _REACH)
    while i > far:
        if text[i].isalpha():
            unit = _AFTER_UNIT.search(text, max(0, i - 3), i + 1) if skip_units else None
            if unit is None:
                return i
            i = unit.start()
        i -= 1
    return -1


def _is_han(c: str) -> bool:
    return _HAN.match(c) is not None
