"""Words that look invented, and the silence beside them that the next window had better begin behind.

Source: what hallucination_silence_threshold does in `transcribe`, openai-whisper 20250625 transcribe.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from .segments import FRAMES_PER_SECOND, Segment, TimedWord, Window, end_of_words, seconds
from .words import AFTER_WORDS, BEFORE_WORDS

NUM_JUDGED = 8  # words at the beginning of a segment
EDGE_S = 2.0  # a segment so near to an end of the window has silence there
_SIGNS = BEFORE_WORDS + AFTER_WORDS


def is_invented(segment: Segment | None) -> bool:
    """Whether the first words of a segment are too short, too long or too improbable to have been said."""
    if segment is None or not segment.words:
        return False
    words = [word for word in segment.words if word.text not in _SIGNS][:NUM_JUDGED]
    score = sum(_oddity(word) for word in words)
    return score >= 3 or score + 0.01 >= len(words)


def seek_behind_words(segments: Sequence[Segment], window: Window, threshold: float) -> int | None:
    """The frame of the last word's end if silence follows it, or of the window's end; None without words to go by."""
    end = end_of_words(segments)
    if end is None or end <= window.start:
        return None
    if window.end - end > threshold:
        return round(end * FRAMES_PER_SECOND)
    return window.seek + window.size


def seek_behind_silence(segments: Sequence[Segment], window: Window, threshold: float) -> int | None:
    """The frame where the first words begin, if they look invented and silence comes before them."""
    first = _first_with_words(segments)
    if first is None or not is_invented(first):
        return None
    gap = first.start - window.start
    return window.seek + round(gap * FRAMES_PER_SECOND) if gap > threshold else None


def seek_at_invented(
    segments: list[Segment], window: Window, threshold: float, last_end: float, num_frames: int
) -> int | None:
    """Leave out, in place, the first segment that looks invented between silences, and all after it.

    Args:
        segments: Of the window, with timed words.
        window: The window.
        threshold: What is silence, in seconds.
        last_end: Where speech ended before the window.
        num_frames: Of the recording.

    Returns:
        The frame where the next window begins; None if all segments stay.
    """
    for place, segment in enumerate(segments):
        if not segment.words:
            continue
        if is_invented(segment):
            following = _first_with_words(segments[place + 1 :])
            next_start = window.start + seconds(window.size) if following is None else following.words[0].start
            has_silence_before = (
                segment.start - last_end > threshold
                or segment.start < threshold
                or segment.start - window.start < EDGE_S
            )
            has_silence_after = (
                next_start - segment.end > threshold or is_invented(following) or window.end - segment.end < EDGE_S
            )
            if has_silence_before and has_silence_after:
                del segments[place:]
                if seconds(num_frames) - segment.end < threshold:
                    return num_frames
                return round(max(window.start + 1, segment.start) * FRAMES_PER_SECOND)
        last_end = segment.end
    return None


def _first_with_words(segments: Sequence[Segment]) -> Segment | None:
    return next((segment for segment in segments if segment.words), None)


def _oddity(word: TimedWord) -> float:
    duration = word.end - word.start
    score = 1.0 if word.probability < 0.15 else 0.0
    if duration < 0.133:
        score += (0.133 - duration) * 15
    if duration > 2.0:
        score += duration - 2.0
    return score
