"""Transcripts as text: subtitles that can be read in time, and files of them. Imports no torch.

What a subtitle file looks like is the business of pysubs2; this module decides what stands in it.
"""

from __future__ import annotations

import html
import json
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from ..mizuoto_runtime.errors import InvalidRequest, Unsupported, did_you_mean
from ..mizuoto_runtime.text.boundaries import places
from ..mizuoto_runtime.text.split import split
from .transcript import Passage, Transcript

# Format -> ending of its files.
SUFFIXES: Mapping[str, str] = {"text": ".txt", "srt": ".srt", "vtt": ".vtt", "json": ".json", "timed text": ".txt"}

MAX_LINES = 2
MAX_COLUMNS = 42  # half as many characters in Chinese, Japanese and Korean
MAX_CUE_S = 7.0
_MIN_CUE_MS = 100
_LOOK_AHEAD = 40  # characters: a word that is not found this near is spelled otherwise in the passage


class Cue(NamedTuple):
    """A text and when it is shown, in seconds; any such triple is one."""

    start: float
    end: float
    text: str


def write(transcript: Transcript, format: str) -> str:
    """The transcript in one of the formats that `SUFFIXES` names.

    Raises:
        InvalidRequest: There is no such format.
        Unsupported: pysubs2 is not installed.
    """
    check_format(format)
    if format == "text":
        return transcript.text
    if format == "json":
        return transcript.to_json()
    if format == "timed text":
        return render([(passage.start, passage.end, passage.text) for passage in transcript.passages], format)
    return render(cues(transcript), format)


def check_format(format: str) -> None:
    """Check that `SUFFIXES` names `format`.

    Raises:
        InvalidRequest: It does not.
    """
    if format not in SUFFIXES:
        raise InvalidRequest(
            f'There is no format "{format[:40]}"; there are: {", ".join(SUFFIXES)}.{did_you_mean(format, SUFFIXES)}'
        )


def cues(transcript: Transcript) -> list[Cue]:
    """The passages, long ones cut: at most `MAX_LINES` of `MAX_COLUMNS` and `MAX_CUE_S` each, one after the other.

    Cuts are made at punctuation first, at words' own times, or in proportion to the text where these are unknown.
    """
    return in_order(cue for passage in transcript.passages for cue in _pieces(passage))


def readable(timed: Iterable[tuple[float, float, str]]) -> list[Cue]:
    """The same for any timed texts."""
    return in_order(cue for start, end, text in timed for cue in _pieces(Passage(text, start, end)))


def in_order(timed: Iterable[tuple[float, float, str]]) -> list[Cue]:
    """The texts that are not empty, with times in whole milliseconds that ascend, never overlap and are never zero."""
    entries = [(_ms(start), _ms(end), text) for start, end, text in timed if text.strip()]
    starts = list(accumulate((start for start, _, _ in entries), lambda last, start: max(start, last + _MIN_CUE_MS)))
    limits = [*starts[1:], float("inf")]
    return [
        Cue(start / 1000, min(max(end, start + _MIN_CUE_MS), limit) / 1000, text)
        for start, limit, (_, end, text) in zip(starts, limits, entries, strict=False)
    ]


def render(timed: Sequence[tuple[float, float, str]], format: str) -> str:
    """Timed texts as they are in one of the formats that `SUFFIXES` names; `json` is a list of objects.

    Raises:
        InvalidRequest: There is no such format.
        Unsupported: pysubs2 is not installed.
    """
    check_format(format)
    entries = in_order(timed)
    if format == "text":
        return "\n".join(entry.text for entry in entries)
    if format == "json":
        return json.dumps([entry._asdict() for entry in entries], ensure_ascii=False, indent=2)
    return _timed_text(entries) if format == "timed text" else _subtitles(entries, format)


def library() -> Any:
    """The module pysubs2, imported at first use.

    Raises:
        Unsupported: It is not installed.
    """
    try:
        import pysubs2
    except ImportError:
        raise Unsupported(
            "Subtitles need the package pysubs2, which is not installed; install requirements.txt of the pack again."
        ) from None
    return pysubs2


def lines(text: str) -> list[str]:
    """`text` in lines of at most `MAX_COLUMNS`, two of them balanced."""
    return [line.strip() for line in split(text, MAX_COLUMNS, _columns)]


def _columns(text: str) -> int:
    """How wide a text is: characters of Chinese, Japanese and Korean count twice, accents not at all."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text.strip()
    )


def _pieces(passage: Passage) -> Iterator[Cue]:
    text = " ".join(passage.text.split())
    clock = _Clock(passage, text)
    at = 0
    for piece in split(text, MAX_LINES, lambda piece: len(lines(piece))):
        for start, end in _in_time(text, at, at + len(piece), clock):
            shown = text[start:end].strip()
            first = start + len(text[start:end]) - len(text[start:end].lstrip())
            begin = clock.start_of(first)
            yield Cue(begin, min(clock.end_of(first + len(shown)), begin + MAX_CUE_S), "\n".join(lines(shown)))
        at += len(piece)


def _in_time(text: str, start: int, end: int, clock: _Clock) -> Iterator[tuple[int, int]]:
    """The stretch cut until each part is short enough or a single word: at the strongest place nearest the middle."""
    begin, stop = clock.start_of(start), clock.end_of(start + len(text[start:end].rstrip()))
    found = [] if stop - begin <= MAX_CUE_S else list(places(text[start:end]))
    if not found:
        yield start, end
        return
    middle = (begin + stop) / 2
    cut = start + max(found, key=lambda place: (place[1], -abs(clock.start_of(start + place[0]) - middle)))[0]
    yield from _in_time(text, start, cut, clock)
    yield from _in_time(text, cut, end, clock)


class _Clock:
    """When each character of a passage is said: at its word's times, between known times in proportion."""

    def __init__(self, passage: Passage, text: str) -> None:
        self._offsets, self._times = [0], [passage.start]
        at = 0
        for word in passage.words:
            found = text.find(word.text, at, at + len(word.text) + _LOOK_AHEAD)
            if word.text and found >= 0:
                at = found + len(word.text)
                self._add(found, word.start)
                self._add(at, word.end)
        self._add(len(text), passage.end)

    def _add(self, offset: int, time: float) -> None:
        self._offsets.append(offset)
        self._times.append(max(time, self._times[-1]))

    def start_of(self, offset: int) -> float:
        """When the character at `offset` begins."""
        last = bisect_right(self._offsets, offset) - 1
        return self._between(last, offset)

    def end_of(self, offset: int) -> float:
        """When the character before `offset` ends."""
        first = max(0, bisect_right(self._offsets, offset - 1) - 1)
        return self._between(first, offset)

    def _between(self, known: int, offset: int) -> float:
        if known + 1 == len(self._offsets):
            return self._times[known]
        begin, end = self._offsets[known : known + 2]
        share = (offset - begin) / (end - begin) if end > begin else 0.0
        return self._times[known] + share * (self._times[known + 1] - self._times[known])


def _ms(seconds: float) -> int:
    return max(0, round(seconds * 1000))


def _timed_text(entries: Sequence[Cue]) -> str:
    from_to = (f"[{_stamp(entry.start)} - {_stamp(entry.end)}]" for entry in entries)
    return "\n".join(f"{times} {' '.join(entry.text.split())}" for times, entry in zip(from_to, entries, strict=True))


def _stamp(seconds: float) -> str:
    whole, ms = divmod(_ms(seconds), 1000)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}.{ms:03}"


def _subtitles(entries: Sequence[Cue], format: str) -> str:
    pysubs2 = library()
    file = pysubs2.SSAFile()
    for entry in entries:
        text = html.escape(entry.text, quote=False) if format == "vtt" else entry.text
        # A backslash begins a tag in pysubs2's own format; an invisible character after it leaves it what it is.
        text = text.replace("\\", "\\\u2060").replace("\n", "\\N")
        file.append(pysubs2.SSAEvent(_ms(entry.start), _ms(entry.end), text))
    return file.to_string(format, keep_ssa_tags=True)
