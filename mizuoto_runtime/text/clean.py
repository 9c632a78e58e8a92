"""Text as people paste it -> text as engines were taught to read it, in any language and without weights."""

from __future__ import annotations

import re
import unicodedata

CJK = "\u2e80-\u30ff\u3100-\u9fff\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff"
"""Inside of a regular-expression set: East Asian letters and punctuation."""

_JOINABLE = "\u0600-\u1fff\u2190-\u2bff\ufe0f\U0001f000-\U0001faff"  # scripts and emoji that use the joiners


def _table() -> dict[int, str]:
    table = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)), "")  # control characters
    table |= dict.fromkeys(map(ord, "\u00ad\u061c\u180e\u200b\u200e\u200f\ufeff\ufffc\ufffe\uffff"), "")
    table |= dict.fromkeys((*range(0x202A, 0x202F), *range(0x2060, 0x2070), *range(0xFFF9, 0xFFFC)), "")
    table |= dict.fromkeys(map(ord, "\t\u00a0\u1680\u202f\u205f\u3000"), " ")
    table |= dict.fromkeys(range(0x2000, 0x200B), " ")
    table |= dict.fromkeys(map(ord, "\n\v\u0085\u2028"), "\n")
    table |= dict.fromkeys(map(ord, "\f\u2029"), "\n\n")
    table |= dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2043\u2212\ufe63\uff0d"), "-")
    table |= dict.fromkeys(map(ord, "\u2015\u2e3a\u2e3b"), "—")
    table |= dict.fromkeys(map(ord, "\u201b\u2032\u02bc\u02b9\uff07"), "'")
    table |= dict.fromkeys(map(ord, "\u201f\u2033\uff02"), '"')
    # Full-width letters, digits and those signs that belong to numbers and addresses; punctuation stays wide.
    wide = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%&*+/<=>@\\^_|"
    table |= {ord(c) + 0xFEE0: c for c in wide}
    return table | {0xFFE0: "¢", 0xFFE1: "£", 0xFFE5: "¥"}


_CHARACTERS = _table()
_COMPATIBLE = re.compile("[\uff66-\uff9f\ufb00-\ufb06\U0001d400-\U0001d7ff]+")
_SURROGATES = re.compile("[\ud800-\udfff]")
_STRAY_JOINERS = re.compile(rf"[\u200c\u200d]+(?:(?<![{_JOINABLE}]\u200c)(?<![{_JOINABLE}]\u200d)|(?![{_JOINABLE}]))")
_JOINERS = re.compile("([\u200c\u200d])[\u200c\u200d]+")
_WIDE_THOUSANDS = re.compile("(?<=[０-９])，(?=[０-９]{3}(?![０-９]))")  # between ASCII digits it parts a list
_WIDE_POINT = re.compile(r"[．：](?<=[0-9].)(?=[0-9])")
_POINTS = {"．": ".", "：": ":"}
_DOUBLE_QUOTES = re.compile(rf"[“”„«»](?<![{CJK}].)(?![{CJK}])")
_SINGLE_QUOTES = re.compile(rf"[‘’‚‹›](?<![{CJK}].)(?![{CJK}])")
_JOINING_DASH = re.compile(r"–(?=[0-9])|–(?<=\w.)(?=\w)")
_SPACES = re.compile(r" {2,}")
_LINE_ENDS = re.compile(r" ?\n ?")
_BLANK_LINES = re.compile(r"\n{3,}")


def clean(text: str) -> str:
    """`text` without what was made for the eye or for machines; never raises, and cleaning twice changes nothing more.

    - Line ends become line feeds, at most two in a row; no-break, tab, ideographic and other spaces become " ", one in
      a row and none at the ends of a line or of the text.
    - Control and zero-width characters, soft hyphens, byte order marks, marks of direction and lone surrogates go;
      joiners stay inside emoji and in the scripts that need them.
    - Typographic quotes become ' and ", but not those beside East Asian characters. Hyphens, minus signs and the
      dashes of ranges become "-", other dashes "—". "…" stays.
    - Full-width letters, digits and signs become ASCII; East Asian punctuation stays, but for points and colons between
      digits and the commas of full-width thousands. Half-width kana, ligatures and mathematical letters become ordinary
      letters.
    - The rest is composed (NFC). No other letter, emoji or sign changes: ASCII tags in brackets come out as they were.
    """
    if text.isascii() and text.isprintable() and "  " not in text:
        return text.strip(" ")
    if _SURROGATES.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    text = unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = _WIDE_THOUSANDS.sub(",", text).translate(_CHARACTERS)
    text = _COMPATIBLE.sub(lambda m: unicodedata.normalize("NFKC", m[0]), text)
    if not text.isascii():
        text = _without_typography(text)
    text = _BLANK_LINES.sub("\n\n", _LINE_ENDS.sub("\n", _SPACES.sub(" ", text)))
    return unicodedata.normalize("NFC", text.strip(" \n"))


def _without_typography(text: str) -> str:
    text = _STRAY_JOINERS.sub("", _JOINERS.sub(r"\1", text))
    text = _WIDE_POINT.sub(lambda m: _POINTS[m[0]], text)
    text = _SINGLE_QUOTES.sub("'", _DOUBLE_QUOTES.sub('"', text))
    return _JOINING_DASH.sub("-", text).replace("–", "—")
