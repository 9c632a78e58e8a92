"""How a text is put before an engine: cleaned, and in words where the engine reads words only."""

from __future__ import annotations

from collections.abc import Callable

from ..mizuoto_runtime.errors import InvalidRequest, did_you_mean
from ..mizuoto_runtime.text.clean import clean
from ..mizuoto_runtime.text.languages import choose_language
from ..mizuoto_runtime.text.normalise import guess_language, normalise, require_wetext
from .base import Manifest

AUTO, ON, WETEXT, OFF = "auto", "on", "wetext", "off"
READINGS = (AUTO, ON, WETEXT, OFF)


def reader(manifest: Manifest, reading: str = AUTO, language: str = "") -> Callable[[str, str], str]:
    """(text, BCP 47 tag or "") -> the text as the engine gets it.

    Args:
        manifest: Of the engine.
        reading: "off" leaves texts as they are; "on" cleans them, puts numbers, dates, money, units and short forms
            into words, and long runs of capitals into lower case; "wetext" does so with the package of that name;
            "auto" is "on" for engines that cannot read numbers, and only cleans for others.
        language: Of texts without a tag, by name or tag; "", "auto" and unknown ones are guessed text by text.

    Raises:
        InvalidRequest: There is no such choice.
        Unsupported: The package `wetext` is chosen but not installed.
    """
    if reading not in READINGS:
        near = did_you_mean(str(reading), READINGS)
        raise InvalidRequest(f'normalise is "{str(reading)[:40]}"; choose one of {", ".join(READINGS)}.{near}')
    if reading == OFF:
        return lambda text, language: text
    if reading == AUTO and manifest.reads_numbers:
        return lambda text, language: clean(text)
    if reading == WETEXT:
        require_wetext()
    usual = _tag(language)
    engine = "wetext" if reading == WETEXT else "builtin"

    def in_words(text: str, language: str) -> str:
        text = clean(text)
        return normalise(text, language or usual or guess_language(text), engine=engine, lower_caps=True)

    return in_words


def _tag(language: str) -> str:
    try:
        return choose_language(language) or ""
    except InvalidRequest:
        return ""  # a dialect or a choice of the engine's own, which is the engine's to judge
