"""Words of a window as readers expect them: signs joined to their word, no word longer than speech makes it.

Source: merge_punctuations and add_word_timestamps, openai-whisper 20250625 timing.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from .segments import Segment, TimedWord

BEFORE_WORDS = "\"'“¿([{-"
AFTER_WORDS = "\"'.。,，!！?？:：”)]}、"
SENTENCE_ENDS = ".。!！?？"
MAX_USUAL_S = 0.7  # a typical word is not longer


def join_signs(words: Sequence[TimedWord]) -> None:
    """Move signs to the words they belong to, in place; what was moved is left with an empty text and no tokens."""
    following = len(words) - 1
    for place in range(len(words) - 2, -1, -1):
        word = words[place]
        if word.text.startswith(" ") and word.text.strip() in BEFORE_WORDS:
            _move(word, words[following], is_front=True)
        else:
            following = place
    previous = 0
    for place in range(1, len(words)):
        word = words[place]
        if not words[previous].text.endswith(" ") and word.text in AFTER_WORDS:
            _move(word, words[previous], is_front=False)
        else:
            previous = place


def put_words(
    segments: Sequence[Segment], words: Sequence[TimedWord], offset: float, last_end: float, text_begin: int
) -> None:
    """Give the segments of a window their words and make the times of both agree, in place.

    Args:
        segments: Their tokens say which words are theirs.
        words: Of all segments, with times from the window's beginning; changed.
        offset: Seconds of the window's beginning.
        last_end: Where speech ended before the window, in seconds.
        text_begin: Ids from here on are no text.
    """
    usual = _usual_duration(words)
    _shorten_at_sentence_ends(words, 2 * usual)
    join_signs(words)
    place = 0
    for segment in segments:
        num_ids = sum(token < text_begin for token in segment.ids)
        taken = 0
        while place < len(words) and taken < num_ids:
            word = words[place]
            taken += len(word.ids)
            place += 1
            if word.text:
                # numpy's rounding, which is not Python's: upstream's times are numpy numbers.
                word.start, word.end = (float(np.round(offset + time, 2)) for time in (word.start, word.end))
                segment.words.append(word)
        if segment.words:
            _shorten_after_pause(segment.words, usual, last_end)
            _agree_at_start(segment, usual)
            _agree_at_end(segment, usual)
            last_end = segment.end


def _move(sign: TimedWord, word: TimedWord, is_front: bool) -> None:
    parts = (sign, word) if is_front else (word, sign)
    word.text, word.ids = parts[0].text + parts[1].text, parts[0].ids + parts[1].ids
    sign.text, sign.ids = "", []


def _usual_duration(words: Sequence[TimedWord]) -> float:
    durations = [word.end - word.start for word in words if word.end != word.start]
    return min(MAX_USUAL_S, float(np.median(durations))) if durations else 0.0


def _shorten_at_sentence_ends(words: Sequence[TimedWord], longest: float) -> None:
    for previous, word in pairwise(words):
        if word.end - word.start <= longest:
            continue
        if word.text in SENTENCE_ENDS:
            word.end = word.start + longest
        elif previous.text in SENTENCE_ENDS:
            word.start = word.end - longest


def _shorten_after_pause(words: Sequence[TimedWord], usual: float, last_end: float) -> None:
    """Let the first two words after a pause not begin in it."""
    longest, first = 2 * usual, words[0]
    if first.end - last_end <= 4 * usual:
        return
    is_long = first.end - first.start > longest
    if not is_long and (len(words) == 1 or words[1].end - first.start <= 2 * longest):
        return
    if len(words) > 1 and words[1].end - words[1].start > longest:
        first.end = words[1].start = max(words[1].end / 2, words[1].end - longest)
    first.start = max(0.0, first.end - longest)


def _agree_at_start(segment: Segment, usual: float) -> None:
    first = segment.words[0]
    if segment.start < first.end and segment.start - 0.5 > first.start:
        first.start = max(0.0, min(first.end - usual, segment.start))
    else:
        segment.start = first.start


def _agree_at_end(segment: Segment, usual: float) -> None:
    last = segment.words[-1]
    if segment.end > last.start and segment.end + 0.5 < last.end:
        last.end = max(last.start + usual, segment.end)
    else:
        segment.end = last.end
