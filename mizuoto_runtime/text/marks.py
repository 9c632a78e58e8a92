"""What a text says about how it is to be spoken: pauses and changes of the speaker, written in brackets.

    [pause]  [pause:1s]  [pause:500ms]  [pause:500]  <break time="500ms"/>
    [Anna]  [German:Anna]  [Anna|seed:42|speed:1.1]  [de:Anna|seed:42]

A change of the speaker holds until the next one. Only the names of known speakers make one: every other bracket is
text, be it prose or a tag that the engine itself understands, and reaches the engine untouched. Capitals do not matter.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ..errors import InvalidRequest, did_you_mean
from .clean import clean
from .languages import find_language

DEFAULT_PAUSE_S = 0.5
MAX_PAUSE_S = 30.0
# A number without a unit: nobody wants a pause of 20 milliseconds, nor one of 20 seconds without saying so.
_FEWEST_MS = 20.0
_BRACKET = re.compile(r"\[(?P<body>[^\[\]\n]{1,200})\]:?|<break(?=[\s/>])(?P<break>[^<>\n]{0,200}?)/?>", re.IGNORECASE)
_PAUSE = re.compile(r"\s*pause\s*(?::\s*(?P<value>.*?)\s*)?", re.IGNORECASE | re.DOTALL)
_BREAK_TIME = re.compile(r"""\s+time\s*=\s*["']?(?P<value>[^"']*?)["']?\s*""", re.IGNORECASE)
_DURATION = re.compile(r"(?P<number>\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})\s*(?P<unit>ms|s|sec|seconds?)?", re.IGNORECASE)
_SETTINGS = ("seed", "speed", "lang", "language")
_NEAR = 0.75  # as alike as "Benn" and "Ben"; "laugh" and "Laura" are less
_SPEED_RANGE = (0.25, 4.0)
_MAX_SEED = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Manner:
    """Who speaks, and how.

    Attributes:
        speaker: Name as the voice bank spells it; "" for the voice of the request.
        language: BCP 47 tag; "" leaves it to the engine.
        seed: Of every segment spoken so; None derives seeds from the request's.
        speed: Factor; None leaves it to the options.
    """

    speaker: str = ""
    language: str = ""
    seed: int | None = None
    speed: float | None = None


PLAIN = Manner()


@dataclass(frozen=True, slots=True)
class Speech:
    """A stretch of text without a mark in it, as it was written.

    Attributes:
        text: With all of its white space.
        manner: How it is spoken.
        line: Number of the script's line or entry that it belongs to; 0 where the text is no script.
    """

    text: str
    manner: Manner = PLAIN
    line: int = 0


@dataclass(frozen=True, slots=True)
class Pause:
    """Silence.

    Attributes:
        seconds: 0 to `MAX_PAUSE_S`.
    """

    seconds: float


@dataclass(frozen=True, slots=True)
class BadMark:
    """A mark that says nothing that can be followed; it is not read aloud.

    Attributes:
        text: The mark.
    """

    text: str


Part = Speech | Pause | BadMark
"""What a text with marks consists of."""


def folded(name: str) -> str:
    """What two spellings of one name have in common, whatever their capitals, accents and widths are made of."""
    return clean(name).casefold()


def read_marks(text: str, speakers: Mapping[str, str], manner: Manner = PLAIN, line: int = 0) -> Iterator[Part]:
    """`text` cut at its marks; what stands between two of them is never changed, empty stretches are left out.

    Args:
        text: Any text.
        speakers: Names that make a mark: `folded` -> as it is spelled.
        manner: How the text begins.
        line: Where in a script it stands.

    Raises:
        InvalidRequest: A mark names a known speaker but asks for something that does not exist, or nearly a known one.
    """
    position = 0
    for found in _BRACKET.finditer(text):
        mark = _mark(found, speakers)
        if mark is None:
            continue
        if position < found.start():
            yield Speech(text[position : found.start()], manner, line)
        position = found.end() if isinstance(mark, Manner) else _without_colon(found)
        if isinstance(mark, Manner):
            manner = mark
        else:
            yield mark
    if position < len(text):
        yield Speech(text[position:], manner, line)


def _without_colon(found: re.Match[str]) -> int:
    """A colon belongs to "[Anna]:" only; behind a pause it is text."""
    return found.end() - found[0].endswith(":")


def _mark(found: re.Match[str], speakers: Mapping[str, str]) -> Manner | Pause | BadMark | None:
    """What a bracket means; None if it is text."""
    if found["body"] is None:
        time = _BREAK_TIME.fullmatch(found["break"])
        return (
            _pause(time["value"] if time else None, found) if time or not found["break"].strip() else BadMark(found[0])
        )
    pause = _PAUSE.fullmatch(found["body"])
    if pause:
        return _pause(pause["value"], found)
    return _speaker(found["body"], speakers)


def _pause(value: str | None, found: re.Match[str]) -> Pause | BadMark:
    if value is None:
        return Pause(DEFAULT_PAUSE_S)
    duration = _DURATION.fullmatch(value)
    if duration is None:
        return BadMark(found[0][: len(found[0]) - found[0].endswith(":")])
    number, unit = float(duration["number"]), (duration["unit"] or "").lower()
    is_ms = unit == "ms" or (not unit and number >= _FEWEST_MS)
    return Pause(min(MAX_PAUSE_S, number / 1000 if is_ms else number))


def _speaker(body: str, speakers: Mapping[str, str]) -> Manner | None:
    head, *settings = body.split("|")
    language, colon, name = head.rpartition(":")
    whole = speakers.get(folded(head))
    if whole is not None:
        return _with_settings(Manner(whole), settings, body)
    known = speakers.get(folded(name))
    tag = _tag(language) if colon and known is not None else None
    if known is None or (colon and tag is None):
        _refuse_slip(head.strip(), settings, speakers, body)
        return None
    return _with_settings(Manner(known, tag or ""), settings, body)


def _refuse_slip(head: str, settings: list[str], speakers: Mapping[str, str], body: str) -> None:
    """Refuse what is meant as a speaker and names none: a bracket with settings, or a name with a slip of the pen."""
    near = difflib.get_close_matches(folded(head), speakers, n=1, cutoff=_NEAR)
    has_settings = any(setting.partition(":")[0].strip().casefold() in _SETTINGS for setting in settings)
    if speakers and (near or has_settings):
        meant = f' Did you mean "{speakers[near[0]]}"?' if near else ""
        raise InvalidRequest(
            f'[{body[:60]}]: there is no voice for "{head[:40]}"; the voice bank has {", ".join(speakers.values())}. '
            f"Add it with a Voice Bank node.{meant}"
        )


def _with_settings(manner: Manner, settings: list[str], body: str) -> Manner:
    for setting in settings:
        name, _, value = (part.strip() for part in setting.partition(":"))
        manner = with_setting(manner, name, value, f"[{body}]")
    return manner


def with_setting(manner: Manner, name: str, value: str, where: str) -> Manner:
    """`manner` with one setting from a mark or a script: seed, speed, language.

    Raises:
        InvalidRequest: There is no such setting, or its value does not fit; `where` tells the place.
    """
    key = name.casefold()
    if key == "seed" and re.fullmatch(r"\d{1,20}", value) and int(value) <= _MAX_SEED:
        return replace(manner, seed=int(value))
    if key == "speed" and re.fullmatch(r"\d{0,4}(\.\d{0,6})?", value) and re.search(r"\d", value):
        low, high = _SPEED_RANGE
        if low <= float(value) <= high:
            return replace(manner, speed=float(value))
    if key in ("lang", "language"):
        tag = _tag(value)
        if tag is not None:
            return replace(manner, language=tag)
    raise InvalidRequest(_refusal(name, value, where))


def _tag(language: str) -> str | None:
    try:
        return find_language(language)
    except InvalidRequest:
        return None


def _refusal(name: str, value: str, where: str) -> str:
    known = {
        "seed": "a whole number",
        "speed": f"a number from {_SPEED_RANGE[0]:g} to {_SPEED_RANGE[1]:g}",
        "language": "a language such as German or de",
        "lang": "a language such as German or de",
    }
    if name.casefold() in known:
        return f'{where}: {name} is "{value}"; it takes {known[name.casefold()]}.'
    return f'{where}: "{name}" is no setting; there are seed, speed and language.{did_you_mean(name, list(known))}'
