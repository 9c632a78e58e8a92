"""Where a text may be cut, and how good each place is: the rules of written language, for Latin and CJK scripts.

A place is good after a paragraph, a sentence, a clause, a word, in that order; it is no place at all inside a bracket
tag, a number or an abbreviation, or between an abbreviation and the word it belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum


class Strength(IntEnum):
    """How natural a pause is at a place."""

    IDEOGRAPH = 1
    """Between two characters of a script that does not separate words."""
    SPACE = 2
    CLAUSE = 3
    SENTENCE = 4
    PARAGRAPH = 5


MAX_TAG = 200
"""Characters between brackets that are still taken for a tag."""

_TAG = rf"\[[^\[\]\n]{{1,{MAX_TAG}}}\](?:\([^()\n]{{0,{MAX_TAG}}}\))?"
_IDEOGRAPH = "\u3005\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_NO_LINE_START = "ーぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶゝゞヽヾ々"
_CLOSERS = "\"'”’»)]}」』）】》〉〕｣"
_CJK_ENDS, _CJK_COMMAS = "。！？｡．", "、，；：､"
# Spaces that forbid a line break (U+00A0, U+2007, U+202F) are not in this set.
_SPACES = r"[^\S\u00a0\u2007\u202f]"

_CLOSING = f"[{re.escape(_CLOSERS)}]*"

# Every branch starts with a character or a set of them, which the engine can reject at once; which branch it was is
# told by the first character of the match.
_PLACE = re.compile(
    rf"{_SPACES}+"
    rf"|{_TAG}"
    rf"|\d(?<!\d\d)\d{{0,2}}(?: \d{{3}})+(?!\d)"
    rf"|[{_CJK_ENDS}]+{_CLOSING}{_SPACES}*"
    rf"|[{_CJK_COMMAS}](?:(?<!\d[{_CJK_COMMAS}])|(?!\d)){_CLOSING}{_SPACES}*"
    rf"|[—―](?![—―….,;:!?{re.escape(_CLOSERS)}]){_SPACES}*"
    rf"|…(?=[^\W_])"
    rf"|[{_IDEOGRAPH}](?=[{_IDEOGRAPH}])(?![{_NO_LINE_START}])"
)
_DASHES = "—―…"
_PARAGRAPH = re.compile(r"\r?\n[^\S\n]*\r?\n|\u2029|\f")
_SENTENCE_END = re.compile(rf"[.!?…{_CJK_ENDS}]+[{re.escape(_CLOSERS)}]*$")
_CLAUSE_END = re.compile(rf"[,;:—–―…{_CJK_COMMAS}][{re.escape(_CLOSERS)}]*$|(?<!\S)-{{1,3}}$|[)\]」』）】]$")
_OPENERS = "\"'“‘«([{「『（【《〈¿¡*_-–—"
_BEFORE_LETTER = re.compile(rf"(?:{_TAG}{_SPACES}*)*[{re.escape(_OPENERS)}]{{0,8}}")
_LOOK_BACK = 24  # characters: longer than any abbreviation, and than any run of closing marks that matters

_BEFORE_NAMES = (
    "mr mrs ms mx dr prof rev hon st mt ft gen gov sen rep capt cpt lt col sgt cmdr cpl maj adm fr msgr pres supt "
    "messrs mme mmes mlle mgr sr sra srta dra hr nr núm vol vols fig figs ch chap pp eq eds "
    "vs v cf ca approx est e.g i.e viz z.b u.a d.h bzw bspw p.ej p.ex jan feb apr jun jul aug sep sept oct nov dec"
)
_AFTER_NAMES = "jr inc ltd co corp bros ave blvd rd dept univ etc al ph.d a.m p.m"
_WORDS_TOO = "no nos art sec par p c ed mar"
_GLUED = frozenset(_BEFORE_NAMES.split())  # never end a sentence
_MAY_END = frozenset(_AFTER_NAMES.split())
_BEFORE_NUMBERS = frozenset(_WORDS_TOO.split())  # abbreviations only if a number follows
_DOTTED = re.compile(r"(?:[^\W\d_]\.-?){2,}$")
_INITIAL = re.compile(r"[^\W\d_]\.")


def places(text: str) -> Iterator[tuple[int, Strength]]:
    """(position, strength) of the places inside `text`, from left to right, in one pass.

    White space belongs to what stands before it: a place is after it.
    """
    for m in _PLACE.finditer(text):
        strength = _strength(text, m)
        if strength is not None and 0 < m.end() < len(text):
            yield m.end(), strength


def _strength(text: str, m: re.Match[str]) -> Strength | None:
    run = m[0]
    first = run[0]
    if run == " " and text[m.start() - 1].isalnum():
        return Strength.SPACE  # nearly all of them
    if first.isspace():
        return _after_space(text, m)
    if first == "[" or first.isdigit():
        return None
    if len(run) > 1 and _PARAGRAPH.search(run):
        return Strength.PARAGRAPH
    if first in _CJK_ENDS:
        return Strength.SENTENCE
    return Strength.CLAUSE if first in _CJK_COMMAS or first in _DASHES else Strength.IDEOGRAPH


def _after_space(text: str, m: re.Match[str]) -> Strength | None:
    if _PARAGRAPH.search(m[0]):
        return Strength.PARAGRAPH
    before = text[max(0, m.start() - _LOOK_BACK) : m.start()]
    after = _first_letter(text, m.end())
    if before.endswith("."):
        abbreviated = _after_abbreviation(before, after)
        if abbreviated != Strength.SENTENCE:
            return abbreviated
    if _SENTENCE_END.search(before):
        return Strength.CLAUSE if after.islower() else Strength.SENTENCE
    if "\n" in m[0] or _CLAUSE_END.search(before):
        return Strength.CLAUSE
    return Strength.SPACE


def _first_letter(text: str, at: int) -> str:
    """The first character from `at` on after tags and opening marks; "" at the end."""
    m = _BEFORE_LETTER.match(text, at)
    letter = m.end() if m else at
    return text[letter : letter + 1]


def _after_abbreviation(before: str, after: str) -> Strength | None:
    """The place after the full stop that ends `before`: None where it belongs to the next word."""
    words = before.split()
    word = words[-1].lstrip(_OPENERS)
    name = word.rstrip(".").lower()
    if word.endswith(".."):
        return Strength.SENTENCE
    if name in _MAY_END:
        return Strength.SENTENCE if after.isupper() else Strength.SPACE
    if name in _GLUED:
        return None
    if name in _BEFORE_NUMBERS:
        return None if after.isdigit() else Strength.SENTENCE
    if _DOTTED.search(word):
        return Strength.SPACE  # "U.S. Army": a pause here may be wrong, and nothing says that it is right
    if _INITIAL.fullmatch(word) and word[0].isupper() and after.isupper():
        is_name = word != "I." or (len(words) > 1 and _INITIAL.fullmatch(words[-2]) is not None)
        return None if is_name else Strength.SENTENCE
    return Strength.SENTENCE
