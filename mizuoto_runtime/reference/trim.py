"""Where the speech of a recording begins and ends, so that nothing but silence and noise is cut off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..audio import Audio
from ..vad import Span, SpeechRules, speech_spans
from .edges import cut

MARGIN_S = 0.15  # kept around speech: detectors hear soft consonants late
_MIN_REST_S = 0.25  # what is shorter holds no word


def find_speech(audio: Audio, longest_s: float, check: Callable[[], None]) -> list[Span]:
    """Where somebody speaks, however quietly: in order, each at most `longest_s` long.

    What lies before the first and after the last speech is heard again, as loud as the rest: a whisper after a shout
    is no silence.

    Args:
        audio: Mono.
        longest_s: Longer speech is split, at a pause if it has one.
        check: Called every two seconds of sound; may raise.
    """
    ear = _Ear(audio, SpeechRules(max_speech_s=longest_s), check)
    spans = ear.listen(0.0, audio.seconds)
    if spans:
        # With its neighbour, which is as loud if it is the same sentence; then on its own.
        first, last = spans[0], spans[-1]
        if first.start > MARGIN_S and (found := ear.listen(0.0, first.end)) and found[0].start < first.start:
            spans[:1] = [*found[:-1], Span(found[-1].start, first.end)]
        rest = audio.seconds - last.end
        if rest > MARGIN_S and (found := ear.listen(last.start, audio.seconds)) and found[-1].end > last.end:
            spans[-1:] = [Span(spans[-1].start, found[0].end), *found[1:]]
        while found := ear.listen(0.0, spans[0].start - MARGIN_S):
            spans = found + spans
        while found := ear.listen(spans[-1].end + MARGIN_S, audio.seconds):
            spans += found
    return spans


def outline(audio: Audio, spans: Sequence[Span]) -> Span:
    """From before the first of `spans` to after the last, with a margin; everything where there are none."""
    if not spans:
        return Span(0.0, audio.seconds)
    return Span(max(0.0, spans[0].start - MARGIN_S), min(audio.seconds, spans[-1].end + MARGIN_S))


@dataclass(frozen=True, slots=True)
class _Ear:
    audio: Audio
    rules: SpeechRules
    check: Callable[[], None]

    def listen(self, start: float, end: float) -> list[Span]:
        """The speech between two times, at the level of what is there."""
        passage = cut(self.audio, start, end)
        if passage.seconds < _MIN_REST_S:
            return []
        found = speech_spans(passage, self.rules, self.check, is_levelled=True)
        return [Span(start + span.start, min(end, start + span.end)) for span in found]
