"""Scripts for several speakers: lines with names in front, texts with marks, or JSON.

    Anna: Good morning.                     [Anna] Good morning. [pause:1s] [Ben] Morning!
    Ben: Morning!                           [{"speaker": "Anna", "text": "Good morning.", "seed": 3}, {"pause": 1}]

A line without a name goes on in the voice of the line before. In JSON, `text` may hold marks, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..errors import InvalidRequest, did_you_mean
from .marks import MAX_PAUSE_S, PLAIN, Manner, Part, Pause, Speech, folded, read_marks, with_setting

# What may stand in front of a name: pauses, and how chat programs set names off ("- **Anna:** hi").
_BEFORE = r"(?P<pauses>(?:\s*\[pause[^\[\]\n]*\]|\s*<break[^<>\n]*>)*)[\s\ufeff*_#>•-]*"
_HEAD = re.compile(rf"{_BEFORE}(?P<name>[^:：\[\]|<>\n]{{1,60}}?)[\s*_]*[:：][*_]*[ \t]*", re.IGNORECASE)
# A name that nobody has told of: few words and no sentence; "Speaker 1", "Speaker_1", "老师".
_NAME_LIKE = re.compile(r"[^\W\d_][\w.'’ \t-]{0,40}")
_MAX_NAME_WORDS = 3
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$")
_SPEAKER_KEYS = ("speaker", "name", "voice", "character", "role")
_SETTING_KEYS = ("seed", "speed", "language", "lang")


def speakers_of(names: Iterable[str]) -> dict[str, str]:
    """Names as `read_marks` and `read_script` want them: casefolded -> as they are spelled."""
    return {folded(name): name for name in names}


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


def read_line(text: str, speakers: Mapping[str, str]) -> list[Part]:
    """The same for one line that is no script, such as a cue of subtitles: other names than known ones are text.

    Raises:
        InvalidRequest: A mark asks for something that does not exist.
    """
    return list(_of_line(text, 0, PLAIN, speakers))


def _of_lines(text: str, speakers: Mapping[str, str]) -> Iterator[Part]:
    lines = _LINE.findall(text)
    _refuse_unknown(lines, speakers)
    manner = PLAIN
    for number, line in enumerate(lines, 1):
        for part in _of_line(line, number, manner, speakers):
            manner = part.manner if isinstance(part, Speech) else manner
            yield part


def _of_line(line: str, number: int, manner: Manner, speakers: Mapping[str, str]) -> Iterator[Part]:
    head = _HEAD.match(line)
    known = speakers.get(folded(head["name"])) if head else None
    if head is None or known is None:
        yield from read_marks(line, speakers, manner, number)
        return
    yield from (part for part in read_marks(head["pauses"], {}) if not isinstance(part, Speech))
    yield from read_marks(line[head.end() :], speakers, Manner(known), number)


def _refuse_unknown(lines: Sequence[str], speakers: Mapping[str, str]) -> None:
    """Refuse names without a voice, in what is a script: one with a known name, or with nothing but names.

    Raises:
        InvalidRequest: There is one; the text names its line.
    """
    heads = {number: head for number, line in enumerate(lines, 1) if (head := _HEAD.match(line))}
    is_known = {number: folded(head["name"]) in speakers for number, head in heads.items()}
    unknown = {n: head["name"] for n, head in heads.items() if not is_known[n] and _is_name_like(head, lines[n - 1])}
    num_lines = sum(any(map(str.isalnum, line)) for line in lines)
    is_script = any(is_known.values()) or len(unknown) == num_lines
    if unknown and is_script:
        number, name = next(iter(unknown.items()))
        sentence = _no_voice(f"Line {number}", name, speakers)
        raise InvalidRequest(f"{sentence} If it is no name, write the line without the colon.")


def _is_name_like(head: re.Match[str], line: str) -> bool:
    name = head["name"]
    if re.match(r"//|\d", line[head.end() :]) or not _NAME_LIKE.fullmatch(name):
        return False
    return len(name.split()) <= _MAX_NAME_WORDS and not name[0].islower()


def _as_json(text: str) -> list[Any] | None:
    """The entries of a script in JSON; None if the text is none: "[Anna] Hello" begins with a bracket, too."""
    if not re.match(r"\s*(\[\s*[{\]]|\{\s*[\"}])", text):
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
        known = speakers.get(folded(asked))
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
