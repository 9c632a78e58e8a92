"""What an engine heard, held against where a voice detector hears somebody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..mizuoto_runtime.vad.spans import Span
from .transcript import Passage

NEARNESS_S = 0.5  # engines round the times of passages, and the detector misses soft beginnings
MARGIN_S = 0.2  # around a voice: what its first and last sounds may take beyond it


def place(
    passages: Sequence[Passage], spans: Sequence[Span], seconds: float
) -> tuple[tuple[Passage, ...], tuple[Passage, ...]]:
    """(what somebody says, what nobody says), in order, with times that keep to the voices.

    The times of passages without times of words drift over pauses, by many seconds where an engine hears long windows.
    So a passage that lies in silence is taken for the voice that no other passage tells of, if there is one between its
    neighbours; and no passage reaches over the silence before and after its voices, or beyond the recording.

    Args:
        passages: In order; empty ones are dropped.
        spans: Where somebody speaks, in order.
        seconds: Length of the recording.
    """
    told = [passage for passage in passages if passage.text]
    free = [span for span in spans if not any(_is_near(passage, span) for passage in told)]
    kept: list[Passage] = []
    invented: list[Passage] = []
    for index, passage in enumerate(told):
        own = [span for span in spans if _is_near(passage, span)]
        if own:
            kept.append(_within(passage, own, seconds))
            continue
        lost = [span for span in free if _is_between(span, told, index)]
        if not lost:
            invented.append(passage)
            continue
        free = [span for span in free if span not in lost]
        kept.append(replace(passage, start=lost[0].start, end=lost[-1].end, words=()))
    return tuple(sorted(kept, key=lambda passage: passage.start)), tuple(invented)


def _is_near(passage: Passage, span: Span) -> bool:
    return passage.start < span.end + NEARNESS_S and span.start - NEARNESS_S < passage.end


def _is_between(span: Span, passages: Sequence[Passage], index: int) -> bool:
    after = passages[index - 1].end if index else 0.0
    is_before_next = index + 1 == len(passages) or span.end <= passages[index + 1].start + NEARNESS_S
    return after - NEARNESS_S <= span.start and is_before_next


def _within(passage: Passage, own: Sequence[Span], seconds: float) -> Passage:
    """The passage without the silence around its voices; words keep their own times, up to the recording's end."""
    if passage.words:
        words = tuple(replace(w, start=min(w.start, seconds), end=min(w.end, seconds)) for w in passage.words)
        return replace(passage, start=min(passage.start, seconds), end=min(passage.end, seconds), words=words)
    start = max(passage.start, own[0].start - MARGIN_S, 0.0)
    end = min(passage.end, own[-1].end + MARGIN_S, seconds)
    return replace(passage, start=min(start, end), end=end)
