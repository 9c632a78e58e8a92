"""Subtitle files in: cues with their times, or the line of the file that is wrong. Imports no torch."""

from __future__ import annotations

import html
import re
from typing import Any, NamedTuple

from ..mizuoto_runtime.errors import InvalidRequest
from .subtitles import library

MAX_HOURS = 6.0
_ARROW = "-->"
_STYLE = re.compile(r"\{\\[^{}]*\}")  # {\an8}, and what pysubs2 makes of <i>
_TAG = re.compile(r"</?(?:font|c|v|lang|ruby|rt|b|i|u|s)\b[^<>]*>|<[\d:.]+>", re.IGNORECASE)
_VTT_NAME = re.compile(rf"(?:(?<=\n\n)|^)(?!NOTE|STYLE|REGION|WEBVTT)[^\n]+\n(?=[^\n]*{_ARROW})", re.MULTILINE)


class TimedText(NamedTuple):
    """One cue.

    Attributes:
        start, end: Seconds.
        text: What is shown, on one line, without tags.
        number: Of the cue in its file, from 1.
    """

    start: float
    end: float
    text: str
    number: int


def read_subtitles(text: str) -> list[TimedText]:
    """The cues of an SRT or WebVTT file by their times; cues without words are left out.

    Numbers may be missing, times may have one to three digits of milliseconds, cues may overlap, have no length and
    stand in any order.

    Raises:
        InvalidRequest: A time cannot be read, a cue ends before it begins, or there is no cue; the text names the line.
        Unsupported: pysubs2 is not installed.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = [number for number, line in enumerate(text.split("\n"), 1) if _ARROW in line]
    if not lines:
        raise InvalidRequest(
            "These are no subtitles: there is no line such as 00:00:01,000 --> 00:00:02,500; paste an SRT or VTT file."
        )
    is_vtt = text.lstrip().startswith("WEBVTT")
    events = _parsed(_VTT_NAME.sub("", text) if is_vtt else text, is_vtt)
    if len(events) != len(lines):
        raise InvalidRequest(_wrong_line(text, lines, is_vtt))
    cues = [
        _cue(event, number, line, is_vtt) for number, (event, line) in enumerate(zip(events, lines, strict=True), 1)
    ]
    spoken = sorted((cue for cue in cues if any(map(str.isalnum, cue.text))), key=lambda cue: cue.start)
    if not spoken:
        raise InvalidRequest("The subtitles have no words, so there is nothing to say; paste a file with text.")
    return spoken


def _cue(event: Any, number: int, line: int, is_vtt: bool) -> TimedText:
    start, end = event.start / 1000, event.end / 1000
    if end < start:
        raise InvalidRequest(f"Line {line} of the subtitles: the cue ends before it begins; correct its times.")
    if end > MAX_HOURS * 3600:
        raise InvalidRequest(f"Line {line} of the subtitles: the limit is {MAX_HOURS:g} hours; cut the file.")
    words = _TAG.sub("", _STYLE.sub("", event.text.replace("\\N", "\n").replace("\\h", " ")))
    return TimedText(start, end, " ".join((html.unescape(words) if is_vtt else words).split()), number)


def _wrong_line(text: str, lines: list[int], is_vtt: bool) -> str:
    """The sentence about the first line with an arrow that is no time to the parser."""
    all_lines = text.split("\n")
    header = "WEBVTT\n\n" if is_vtt else ""
    wrong = next((n for n in lines if len(_parsed(f"{header}{all_lines[n - 1]}\nx\n", is_vtt)) != 1), lines[0])
    return (
        f'Line {wrong} of the subtitles, "{all_lines[wrong - 1].strip()[:60]}", is no time such as '
        "00:00:01,000 --> 00:00:02,500; correct it."
    )


def _parsed(text: str, is_vtt: bool) -> list[Any]:
    # Other "tags" than those of subtitles are words, or marks of ours.
    kind = {"format_": "vtt"} if is_vtt else {"format_": "srt", "keep_unknown_html_tags": True}
    return list(library().SSAFile.from_string(text, **kind))
