"""The one entry: a text of one language, or two, in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from ...errors import InvalidRequest, did_you_mean
from . import chinese, chinese_readings, chinese_tables, english, english_readings, english_tables
from .addresses import read_addresses
from .caps import fold_caps
from .rewrite import Rules, has_han, has_han_near, is_among_words, rewrite, touches_han
from .tags import tag_spans
from .weekdays import read_days
from .wetext import by_wetext

ENGINES = ("builtin", "wetext")
_MAX_PASSES = 4  # a reading may complete another expression ("5%.com"); more than two passes are not known to be needed
_LANGUAGES = ("en", "zh")
_OPERATORS = frozenset("+=<>≤≥≠≈±×÷")  # between letters in Chinese, too, if the text is
_TO_NUMBER = re.compile(r"[A-Za-z][A-Za-z$.]{0,3}\s?")


def normalise(
    text: str,
    language: str,
    *,
    engine: str = "builtin",
    lower_caps: bool = False,
) -> str:
    """`text` with what is not written in words put into words, for engines that read words only.

    Numbers, ranks, fractions, dates, times, money, units, telephone numbers, versions, addresses, signs, and in English
    short forms and roman numerals. Words stay, and white space and punctuation, but for the points of short forms.
    A number that touches ideographs is read in Chinese, one among English words in English. Normalising the result
    again changes nothing ("builtin"). Tags pass through. Clean the text first: only ASCII digits are read.

    Args:
        text: Any text.
        language: A BCP 47 tag; what is neither English nor Chinese comes back as it is.
        engine: "builtin", or "wetext" for the optional package, which has other readings.
        lower_caps: Puts runs of three and more words in capitals into lower case; English only.

    Raises:
        InvalidRequest: There is no such engine.
        Unsupported: The package `wetext` is not installed.
    """
    if engine not in ENGINES:
        raise InvalidRequest(
            f"There is no text engine {engine!r}; choose {' or '.join(ENGINES)}.{did_you_mean(engine, ENGINES)}"
        )
    prefix = re.split("[-_]", language, maxsplit=1)[0].lower()
    if prefix not in _LANGUAGES:
        return text
    if engine == "wetext":
        read = partial(by_wetext, language=prefix)
    else:
        read = partial(_settled, read=_english if prefix == "en" else _chinese)
    out = []
    for piece, is_open in _pieces(text):
        words = read(piece) if is_open else piece
        out.append(fold_caps(words) if lower_caps and is_open and prefix == "en" else words)
    return "".join(out)


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Text, and whether it is no tag."""
    at = 0
    for start, end in tag_spans(text):
        if start > at:
            yield text[at:start], True
        yield text[start:end], False
        at = end
    if at < len(text):
        yield text[at:], True


def _settled(text: str, read: Callable[[str], str]) -> str:
    for _ in range(_MAX_PASSES):
        words = read(text)
        if words == text:
            break
        text = words
    return text


def _english(text: str) -> str:
    text = read_addresses(text, english_tables.ADDRESS_SIGNS, english_readings.code)
    return rewrite(read_days(text), english.starts(), _english_unless_by_han if has_han(text) else _always_english)


def _chinese(text: str) -> str:
    text = read_addresses(text, chinese_tables.ADDRESS_SIGNS, chinese_readings.spelled)
    return rewrite(text, chinese.starts(), _chinese_unless_among_words)


def _always_english(text: str, at: int) -> Rules:
    return english.rules()


def _english_unless_by_han(text: str, at: int) -> Rules:
    return chinese.rules() if not text[at].isalpha() and touches_han(text, at) else english.rules()


def _chinese_unless_among_words(text: str, at: int) -> Rules:
    if text[at] in _OPERATORS and has_han_near(text, at):
        return chinese.rules()
    number = _TO_NUMBER.match(text, at)  # its letters are no word that it is among
    return english.rules() if is_among_words(text, number.end() if number else at) else chinese.rules()
