"""The words of a part of a recording. Imports no torch."""

from __future__ import annotations

from .transcript import Passage, Transcript, joined


def excerpt(transcript: Transcript, start: float, end: float) -> str | None:
    """What is said between two times; None if a passage without times of words lies across one of them."""
    pieces = [_part(passage, start, end) for passage in transcript.passages]
    known = [piece for piece in pieces if piece is not None]
    return joined(known) if len(known) == len(pieces) else None


def _part(passage: Passage, start: float, end: float) -> str | None:
    if passage.words:
        return _said(passage, [start <= (word.start + word.end) / 2 <= end for word in passage.words])
    if passage.end <= start or end <= passage.start:
        return ""
    return passage.text if start <= passage.start and passage.end <= end else None


def _said(passage: Passage, is_chosen: list[bool]) -> str:
    """The chosen words as the passage writes them: "well-known" is two words without a space between them."""
    chosen: list[str] = []
    position = 0
    for word, is_wanted in zip(passage.words, is_chosen, strict=True):
        begin = passage.text.find(word.text, position)
        if begin < 0:  # written otherwise than in the passage
            return joined([word.text for word, is_wanted in zip(passage.words, is_chosen, strict=True) if is_wanted])
        if is_wanted:
            chosen.append(passage.text[position if chosen else begin : begin + len(word.text)])
        position = begin + len(word.text)
    return "".join(chosen)
