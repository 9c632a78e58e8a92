"""Windows of a recording, and the segments that the times among a window's tokens cut it into.

Source: `transcribe`, openai-whisper 20250625 transcribe.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...mizuoto_runtime.nn.whisper_mel import HOP_LENGTH, SAMPLE_RATE
from .config import NUM_FEATURES, NUM_FRAMES
from .model import Tokens

FRAMES_PER_SECOND = SAMPLE_RATE // HOP_LENGTH
FRAMES_PER_STEP = NUM_FRAMES // NUM_FEATURES  # of the times, and of the encoder
STEP_S = FRAMES_PER_STEP / FRAMES_PER_SECOND


@dataclass(frozen=True, slots=True)
class Window:
    """A part of the recording that is heard at once.

    Attributes:
        seek: Where it begins, in frames of the mel spectrogram.
        size: Its frames, at most `NUM_FRAMES`.
    """

    seek: int
    size: int

    @property
    def start(self) -> float:
        """Where it begins, in seconds."""
        return seconds(self.seek)

    @property
    def end(self) -> float:
        """Where a full window would end, in seconds."""
        return seconds(self.seek + NUM_FRAMES)


@dataclass(slots=True)
class TimedWord:
    """A word while its times are worked out.

    Attributes:
        text: With the space in front of it; empty once it was joined to a neighbour.
        ids: Its tokens.
        start, end: Seconds.
        probability: Mean of its tokens'.
    """

    text: str
    ids: list[int]
    start: float
    end: float
    probability: float


@dataclass(slots=True)
class Segment:
    """A stretch of speech while its times are worked out.

    Attributes:
        start, end: Seconds.
        ids: Tokens, times among them.
        text: As decoded, with the space in front.
        words: Empty unless words are timed.
    """

    start: float
    end: float
    ids: tuple[int, ...]
    text: str
    words: list[TimedWord] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Cut:
    """What a window came to.

    Attributes:
        segments: In order.
        next_seek: Where the next window begins.
        is_complete: Whether the model said that nobody speaks after the last segment.
    """

    segments: list[Segment]
    next_seek: int
    is_complete: bool


def seconds(frames: int) -> float:
    """The time of a mel frame."""
    return frames * HOP_LENGTH / SAMPLE_RATE


def cut(ids: Sequence[int], window: Window, tokens: Tokens) -> Cut:
    """The segments of a window's tokens.

    Two times in a row end one segment and begin another. What follows the last pair is unfinished: the next window
    begins there and hears it again. One time at the very end says that nothing follows, so the next window begins
    where this one ends, and so it does where there are no pairs at all.
    """
    is_time = [token >= tokens.timestamp_begin for token in ids]
    is_complete = is_time[-2:] == [False, True]
    borders = [place for place in range(1, len(ids)) if is_time[place - 1] and is_time[place]]
    if not borders:
        return Cut([_whole(ids, window, tokens)], window.seek + window.size, is_complete)
    if is_complete:
        borders.append(len(ids))
    segments = []
    for first, last in zip([0, *borders], borders, strict=False):
        part = ids[first:last]
        start, end = (window.start + (time - tokens.timestamp_begin) * STEP_S for time in (part[0], part[-1]))
        segments.append(_segment(part, start, end, tokens))
    frames = window.size if is_complete else (ids[borders[-1] - 1] - tokens.timestamp_begin) * FRAMES_PER_STEP
    return Cut(segments, window.seek + frames, is_complete)


def end_of_words(segments: Sequence[Segment]) -> float | None:
    """Where the last word ends, or the last segment if there are no words; None without segments."""
    ends = (word.end for segment in reversed(segments) for word in reversed(segment.words))
    return next(ends, segments[-1].end if segments else None)


def _whole(ids: Sequence[int], window: Window, tokens: Tokens) -> Segment:
    """All tokens as one segment, up to the last time if there is one."""
    last = next((token for token in reversed(ids) if token >= tokens.timestamp_begin), tokens.timestamp_begin)
    has_end = last != tokens.timestamp_begin
    duration = (last - tokens.timestamp_begin) * STEP_S if has_end else seconds(window.size)
    return _segment(ids, window.start, window.start + duration, tokens)


def _segment(ids: Sequence[int], start: float, end: float, tokens: Tokens) -> Segment:
    return Segment(start, end, tuple(ids), tokens.decode([token for token in ids if token < tokens.eot]))
