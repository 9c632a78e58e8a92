"""Cuts a line into tokens by spaCy's English conventions, which the tagger was trained on.

A table of special cases ("don't" -> do, n't) comes first; then punctuation is peeled off both ends of a word, and
hyphens, slashes and the like are cut in its middle.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .alphabet import LETTER, LOWER, UPPER

_QUOTES = "'\"”“`‘´’‚,„»«「」『』（）〔〕【】《》〈〉"
_PUNCTUATION = "…,:;!?¿¡()[]{}<>_#*&。？！，、；：～·"
_ICONS = "™®©°§¶†‡•"
_MONEY = r"(?:\$|£|€|¥|฿|US\$|C\$|A\$|₽|₹|₩|₪|₺|₴|₦|₫|₱|₲|₵|₸|₼|₾|₿)"
_UNITS = (
    r"(?:km|km²|km³|m|m²|m³|dm|dm²|dm³|cm|cm²|cm³|mm|mm²|mm³|ha|µm|nm|yd|in|ft|kg|g|mg|µg|t|lb|oz|m/s|km/h|kmh|mph"
    r"|hPa|Pa|mbar|mb|MB|kb|KB|gb|GB|tb|TB|T|G|M|K|%)"
)
_LOOSE = f"[{re.escape(_PUNCTUATION + _QUOTES + _ICONS)}]"
_FRONT = re.compile(rf"^(?:\.\.+|[%=—–]|\+(?![0-9])|{_LOOSE}|{_MONEY})")
_BACK = re.compile(
    rf"(?:……|['’][sS]|[—–]|{_LOOSE}|(?<=[0-9])\+|(?<=°[FfCcKk])\.|(?<=[0-9])(?:{_MONEY}|{_UNITS})"
    rf"|(?<=[0-9{LOWER}%²\-\+{re.escape(_PUNCTUATION + _QUOTES)}])\.|(?<=[{UPPER}][{UPPER}])\.)$"
)
_BACK_LENGTH = 4  # the longest of these: "km/h", "mbar"
_MIDDLE = re.compile(
    rf"\.\.+|…|[{_ICONS}]|(?<=[0-9])[+\-*^](?=[0-9-])"
    rf"|(?<=[{LOWER}{re.escape(_QUOTES)}])\.(?=[{UPPER}{re.escape(_QUOTES)}])"
    rf"|(?<={LETTER}),(?={LETTER})|(?<=[^\W_])(?:-|–|—|--|---|——|~)(?={LETTER})|(?<=[^\W_])[:<>=/](?={LETTER})"
)
_ADDRESS = re.compile(
    r"^(?:(?:https?|ftp)://|www\.)\S+$|^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$"
    r"|^(?:[\w-]+\.)+(?:com|org|net|edu|gov|io|co|uk|de|fr|info|biz|us|ca|au|tv|me|ly|ai)(?:/\S*)?$",
    re.I,
)


def _back_start(text: str) -> int:
    """Where the piece of punctuation at the end of `text` starts; its length if there is none."""
    if text.endswith(".."):
        return len(text.rstrip("."))
    # Looking at the end alone keeps long runs of punctuation linear.
    m = _BACK.search(text, max(0, len(text) - _BACK_LENGTH))
    return m.start() if m else len(text)


class Tokeniser:
    """Text -> tokens; `special` maps a written word to its tokens."""

    def __init__(self, special: Mapping[str, Sequence[str]]):
        self._special = special

    def __call__(self, text: str) -> list[tuple[str, str]]:
        """Tokens of `text`, each with "" or the space that followed it."""
        out: list[tuple[str, str]] = []
        for m in re.finditer(r"\S+", text):
            *inner, last = self._chunk(m[0])
            out += [(t, "") for t in inner]
            out.append((last, " " if m.end() < len(text) else ""))
        return out

    def _chunk(self, chunk: str) -> list[str]:
        if chunk in self._special:
            return list(self._special[chunk])
        front, core, back = self._peel(chunk)
        tokens = [*front, *self._core(core), *reversed(back)]
        return self._rejoin(tokens) if len(tokens) > 1 else tokens

    def _peel(self, text: str) -> tuple[list[str], str, list[str]]:
        """(front, core, back from the outside in): one piece off each end at a time, until a special case is left."""
        front: list[str] = []
        back: list[str] = []
        while text and text not in self._special:
            m = _FRONT.match(text)
            start = m.end() if m else 0
            rest = text[start:]  # what the front took off must not be seen by the patterns of the back
            if start and rest in self._special:
                return [*front, text[:start]], rest, back
            end = start + _back_start(rest)
            if end < len(text) and text[:end] in self._special:
                return front, text[:end], [*back, text[end:]]
            if start == 0 and end == len(text):
                break
            if start:
                front.append(text[:start])
            if end < len(text):
                back.append(text[end:])
            text = text[start:end]
        return front, text, back

    def _core(self, text: str) -> list[str]:
        if not text:
            return []
        if text in self._special:
            return list(self._special[text])
        if _ADDRESS.match(text):
            return [text]
        tokens: list[str] = []
        start = 0
        for m in _MIDDLE.finditer(text):
            if m.start() == 0:
                continue
            if m.start() > start:
                tokens.append(text[start : m.start()])
            tokens.append(m[0])
            start = m.end()
        return [*tokens, text[start:]] if start < len(text) else tokens

    def _rejoin(self, tokens: list[str]) -> list[str]:
        """Neighbours that spell a special case together become it again: "Sept" "." -> "Sept."."""
        out: list[str] = []
        at = 0
        while at < len(tokens):
            for size in (3, 2):
                joined = "".join(tokens[at : at + size])
                if at + size <= len(tokens) and joined in self._special:
                    out += self._special[joined]
                    at += size
                    break
            else:
                out.append(tokens[at])
                at += 1
        return out
