"""The best passage of a recording that is longer than an engine takes."""

from __future__ import annotations

from collections.abc import Sequence

from ..audio import Audio
from ..vad import Span
from .edges import cut
from .quality import clipped_share, noise_ratio_db
from .trim import MARGIN_S

_ENOUGH_SPEECH = 0.9  # of the most that a window can hold; among those the cleanest is taken
_MAX_JUDGED = 16
_HOP_S = 0.1


def best_window(audio: Audio, spans: Sequence[Span], max_seconds: float) -> Span:
    """A passage of at most `max_seconds` that begins and ends in pauses: with much speech, and of that the cleanest.

    Where nobody speaks it is the loudest one.

    Args:
        audio: Mono.
        spans: Where somebody speaks, in order; only one that is longer than `max_seconds` is cut.
        max_seconds: The limit.
    """
    if audio.seconds <= max_seconds:
        return Span(0.0, audio.seconds)
    if not spans:
        return _loudest(audio, max_seconds)
    found = [_from(audio, spans, first, max_seconds) for first in range(len(spans))]
    most = max(speech for _, speech in found)
    good = sorted((-speech, index) for index, (_, speech) in enumerate(found) if speech >= _ENOUGH_SPEECH * most)
    candidates = [found[index][0] for _, index in sorted(good[:_MAX_JUDGED], key=lambda entry: entry[1])]
    return max(candidates, key=lambda window: _cleanness(audio, spans, window))


def _from(audio: Audio, spans: Sequence[Span], first: int, max_seconds: float) -> tuple[Span, float]:
    """The longest window that begins before `spans[first]`, and the seconds of speech in it."""
    start, last = spans[first].start, first
    while last + 1 < len(spans) and spans[last + 1].end - start <= max_seconds:
        last += 1
    end = min(spans[last].end, start + max_seconds)
    # A margin ends in the middle of its pause, or where the window is full.
    before = (start - spans[first - 1].end) / 2 if first else start
    after = (spans[last + 1].start - end) / 2 if last + 1 < len(spans) else audio.seconds - end
    room = (max_seconds - (end - start)) / 2
    window = Span(start - max(0.0, min(MARGIN_S, before, room)), end + max(0.0, min(MARGIN_S, after, room)))
    return window, sum(min(span.end, end) - span.start for span in spans[first : last + 1])


def _cleanness(audio: Audio, spans: Sequence[Span], window: Span) -> tuple[float, float]:
    """Larger is better: little clipping counts before little noise."""
    passage = cut(audio, window.start, window.end)
    inside = [
        Span(max(0.0, span.start - window.start), min(window.end, span.end) - window.start)
        for span in spans
        if span.start < window.end and window.start < span.end
    ]
    return -round(clipped_share(passage), 3), noise_ratio_db(passage, inside) or 0.0


def _loudest(audio: Audio, max_seconds: float) -> Span:
    hop = max(1, min(round(_HOP_S * audio.sample_rate), int(max_seconds * audio.sample_rate)))
    num_hops = audio.waveform.shape[-1] // hop
    energy = audio.waveform[0, : num_hops * hop].square().reshape(num_hops, hop).sum(1)
    length = min(num_hops, int(max_seconds * audio.sample_rate) // hop)
    best = int(energy.unfold(0, length, 1).sum(1).argmax())
    return Span(best * hop / audio.sample_rate, (best + length) * hop / audio.sample_rate)
