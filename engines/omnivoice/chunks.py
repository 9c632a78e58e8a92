"""The publisher's own way to cut a long text: at any mark, packed up to a number of characters. Imports no torch."""

from __future__ import annotations

from .duration import FRAME_RATE_HZ

_CUTS = frozenset(".,;:!?。，；：！？")
_CLOSERS = frozenset("\"'“”‘’）]》>」】")
_ABBREVIATIONS = frozenset(
    [
        *("Mr.", "Mrs.", "Ms.", "Dr.", "Prof.", "Sr.", "Jr.", "Rev.", "Fr.", "Hon.", "Pres.", "Gov.", "Capt.", "Gen."),
        *("Sen.", "Rep.", "Col.", "Maj.", "Lt.", "Cmdr.", "Sgt.", "Cpl.", "Co.", "Corp.", "Inc.", "Ltd.", "Est."),
        *("Dept.", "St.", "Ave.", "Blvd.", "Rd.", "Mt.", "Ft.", "No.", "Jan.", "Feb.", "Mar.", "Apr.", "Aug.", "Sep."),
        *("Sept.", "Oct.", "Nov.", "Dec.", "i.e.", "e.g.", "vs.", "Vs.", "Etc.", "approx.", "fig.", "def."),
    ]
)
_SHORTEST = 3  # characters; what is shorter joins its neighbour


def chunk_size(text: str, frames: int, seconds: float) -> int:
    """Characters of `text` that fill `seconds` if all of it takes `frames`."""
    return int(seconds * FRAME_RATE_HZ / (frames / len(text)))


def chunks(text: str, size: int) -> list[str]:
    """The pieces of `text`, in order, without the white space around them; a sentence longer than `size` stays whole.

    Source: chunk_text_punctuation with `min_chunk_len=3`, omnivoice 0.2.1 utils/text.py.
    """
    packed: list[str] = []
    for sentence in _sentences(text):
        if packed and len(packed[-1]) + len(sentence) <= size:
            packed[-1] += sentence
        else:
            packed.append(sentence)
    joined: list[str] = []
    for number, piece in enumerate(packed):
        if joined and (len(piece) < _SHORTEST or (number == 1 and len(packed[0]) < _SHORTEST)):
            joined[-1] += piece
        else:
            joined.append(piece)
    return [stripped for piece in joined if (stripped := piece.strip())]


def _sentences(text: str) -> list[str]:
    found: list[str] = []
    current = ""
    for character in text:
        if not current and found and (character in _CUTS or character in _CLOSERS):
            found[-1] += character  # a mark right behind a cut stays with what it closes
            continue
        current += character
        if character in _CUTS and not (character == "." and _is_abbreviation(current)):
            found.append(current)
            current = ""
    return [*found, current] if current else found


def _is_abbreviation(text: str) -> bool:
    words = text.split()
    return bool(words) and words[-1] in _ABBREVIATIONS
