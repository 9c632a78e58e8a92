"""How a text is put before an engine: cleaned, and in words where the engine reads words only."""

from __future__ import annotations

from collections.abc import Callable

from ..mizuoto_runtime.errors import InvalidRequest, did_you_mean
from ..mizuoto_runtime.text.clean import clean
from ..mizuoto_runtime.text.normalise import guess_language, normalise
from .base import Manifest

AUTO, ON, OFF = "auto", "on", "off"
READINGS = (AUTO, ON, OFF)


def reader(manifest: Manifest, reading: str = AUTO) -> Callable[[str, str], str]:
    """(text, language or "") -> the text as the engine gets it.

    Args:
        manifest: Of the engine.
        reading: "off" leaves texts as they are; "on" cleans them and puts numbers, dates, money, units and short forms
            into words; "auto" does the latter only for engines that cannot read them.

    Raises:
        InvalidRequest: There is no such choice.
    """
    if reading not in READINGS:
        near = did_you_mean(str(reading), READINGS)
        raise InvalidRequest(f'normalise is "{str(reading)[:40]}"; choose one of {", ".join(READINGS)}.{near}')
    if reading == OFF:
        return lambda text, language: text
    if reading == AUTO and manifest.reads_numbers:
        return lambda text, language: clean(text)
    return _in_words


def _in_words(text: str, language: str) -> str:
    text = clean(text)
    return normalise(text, language or guess_language(text))
