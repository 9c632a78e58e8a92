"""The words of a part of a recording. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence

from .transcript import UNSPACED_LANGUAGES, Passage, Transcript


def excerpt(transcript: Transcript, start: float, end: float) -> str | None:
    """What is said between two times; None if a passage without times of words lies across one of them."""
    pieces = [_part(passage, transcript.language, start, end) for passage in transcript.passages]
    known = [piece for piece in pieces if piece is not None]
    return _spaced([piece for piece in known if piece], transcript.language) if len(known) == len(pieces) else None


def _part(passage: Passage, language: str, start: float, end: float) -> str | None:
    if passage.words:
        return _spaced([word.text for word in passage.words if start <= (word.start + word.end) / 2 <= end], language)
    if passage.end <= start or end <= passage.start:
        return ""
    return passage.text if start <= passage.start and passage.end <= end else None


def _spaced(words: Sequence[str], language: str) -> str:
    return ("" if language in UNSPACED_LANGUAGES else " ").join(words)
