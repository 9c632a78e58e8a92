"""The words of a part of a recording."""

from __future__ import annotations

from collections.abc import Sequence

from ..mizuoto_runtime.vad.spans import Span
from .transcript import Passage, Transcript, joined

_ROUNDING_S = 0.15  # of speech that may lie beyond an end of a passage that is taken whole


def excerpt(transcript: Transcript, window: Span, voices: Sequence[Span] = ()) -> str | None:
    """What is said in a part of a recording; None if a passage without times of words lies across an end of it.

    Args:
        transcript: Of the whole recording.
        window: The part; its ends should lie in pauses.
        voices: Where somebody speaks. Engines let a word last until the next one begins, so that the silence behind it
            does not count; without them it does.
    """
    pieces = [_part(passage, window, voices) for passage in transcript.passages]
    known = [piece for piece in pieces if piece is not None]
    return joined(known) if len(known) == len(pieces) else None


def _part(passage: Passage, window: Span, voices: Sequence[Span]) -> str | None:
    if passage.words:
        shares = [_shares(word.start, word.end, window, voices) for word in passage.words]
        return _said(passage, [inside > 0 and inside >= outside for inside, outside in shares])
    inside, outside = _shares(passage.start, passage.end, window, voices)
    if inside <= _ROUNDING_S:
        return ""
    return passage.text if outside <= _ROUNDING_S else None


def _shares(start: float, end: float, window: Span, voices: Sequence[Span]) -> tuple[float, float]:
    """Seconds of a stretch that lie inside of the window and outside of it; of its speech where some is known."""
    parts = [
        (max(start, voice.start), min(end, voice.end)) for voice in voices if voice.start < end and start < voice.end
    ]
    parts = parts or [(start, end)]
    inside = sum(max(0.0, min(stop, window.end) - max(begin, window.start)) for begin, stop in parts)
    return inside, sum(stop - begin for begin, stop in parts) - inside


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
