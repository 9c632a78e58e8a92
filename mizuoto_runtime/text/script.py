"""Scripts for several speakers: lines with names in front, texts with marks, or JSON.

    Anna: Good morning.                     [Anna] Good morning. [pause:1s] [Ben] Morning!
    Ben: Morning!                           [{"speaker": "Anna", "text": "Good morning.", "seed": 3}, {"pause": 1}]

A line without a name goes on in the voice of the line before. In JSON, `text` may hold marks, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..errors import InvalidRequest, did_you_mean
from .marks import MAX_PAUSE_S, PLAIN, BadMark, Manner, Pause, Speech, read_marks, with_setting

# A name in front of a line: few words, no sentence; "Speaker 1", "Speaker_1", "老师" ...
_NAMED = re.compile(r"[ \t]*(?P<name>[^\W\d_][\w.'’ \t-]{0,40}?)[ \t]*[:：](?!//|\d)[ \t]*")
_MAX_NAME_WORDS = 3
_SPEAKER_KEYS = ("speaker", "name", "voice", "character", "role")
_SETTING_KEYS = ("seed", "speed", "language", "lang")
Part = Speech | Pause | BadMark


def speakers_of(names: Iterable[str]) -> dict[str, str]:
    """Names as `read_marks` and `read_script` want them: casefolded -> as they are spelled."""
    return {name.strip().casefold(): name for name in names}


def read_script(text: str, speakers: Mapping[str, str]) -> list[Part]:
    """What is to be said, in order, and by whom.

    Args:
        text: Any of the three forms.
        speakers: As `speakers_of` gives them.

    Raises:
        InvalidRequest: A line names a speaker who is not there, or JSON holds something else; the text names the line.
    """
    entries = _as_json(text)
    return list(_of_lines(text, speakers) if entries is None else _of_entries(entries, speakers))


def _of_lines(text: str, speakers: Mapping[str, str]) -> Iterator[Part]:
    manner = PLAIN
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        named = _NAMED.match(line)
        name = _speaker_of(named["name"], number, speakers) if named else None
        if named is not None and name is not None:
            manner, line = Manner(name), line[named.end() :]
        for part in read_marks(line, speakers, manner, number):
            manner = part.manner if isinstance(part, Speech) else manner
            yield part


def _speaker_of(name: str, number: int, speakers: Mapping[str, str]) -> str | None:
    """The speaker in front of a line; None where the words before the colon are text."""
    known = speakers.get(" ".join(name.split()).casefold())
    if known is not None:
        return known
    looks_like_text = len(name.split()) > _MAX_NAME_WORDS or name[0].islower()
    if looks_like_text:
        return None
    raise InvalidRequest(
        _no_voice(f"Line {number}", name, speakers) + " If it is no name, write the line without the colon."
    )


def _as_json(text: str) -> list[Any] | None:
    """The entries of a script in JSON; None if the text is none: "[Anna] Hello" begins with a bracket, too."""
    if not re.match(r"\s*(\[\s*[{\]]|\{)", text):
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(
            f"The script begins like JSON but is none ({error}); correct it, or write plain lines."
        ) from None
    entries = data.get("lines", data.get("script")) if isinstance(data, dict) else data
    if not isinstance(entries, list):
        raise InvalidRequest('A script in JSON is a list such as [{"speaker": "Anna", "text": "Hello."}]; correct it.')
    return entries


def _of_entries(entries: list[Any], speakers: Mapping[str, str]) -> Iterator[Part]:
    for number, entry in enumerate(entries, 1):
        where = f"Entry {number}"
        if not isinstance(entry, dict) or not ({"text", "pause"} & entry.keys()):
            raise InvalidRequest(f'{where} of the script has no "text" and no "pause"; correct it.')
        yield from _of_entry(entry, number, speakers)


def _of_entry(entry: dict[str, Any], number: int, speakers: Mapping[str, str]) -> Iterator[Part]:
    where = f"Entry {number}"
    manner = PLAIN
    asked = next((str(entry[key]) for key in _SPEAKER_KEYS if entry.get(key)), "")
    if asked:
        known = speakers.get(asked.strip().casefold())
        if known is None:
            raise InvalidRequest(_no_voice(where, asked, speakers))
        manner = Manner(known)
    for key in _SETTING_KEYS:
        if entry.get(key) is not None:
            manner = with_setting(manner, key, str(entry[key]), where)
    if "text" in entry:
        if not isinstance(entry["text"], str):
            raise InvalidRequest(f'{where}: "text" is {str(entry["text"])[:40]!r}; it takes words in quotes.')
        yield from read_marks(entry["text"] + "\n", speakers, manner, number)
    if "pause" in entry:
        yield Pause(_seconds(entry["pause"], where))


def _seconds(value: Any, where: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return min(float(value), MAX_PAUSE_S)
    raise InvalidRequest(f'{where}: "pause" is {str(value)[:40]!r}; it takes seconds, such as 0.5.')


def _no_voice(where: str, name: str, speakers: Mapping[str, str]) -> str:
    names = list(speakers.values())
    has = f"the voice bank has {', '.join(names)}" if names else "the voice bank is empty"
    near = did_you_mean(name, names)
    return f'{where}: there is no voice for "{name[:40]}"; {has}. Add it with a Voice Bank node.{near}'
