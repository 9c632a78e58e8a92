"""The languages of the voices. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...base import Extra

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Language:
    """One language that voices speak.

    Attributes:
        letter: First of the names of its voices.
        tag: BCP 47.
        name: In English; what users choose.
        front_end: Module in this package whose function `load` gives its front end.
        packages: Import names of the optional packages that its front end needs.
    """

    letter: str
    tag: str
    name: str
    front_end: str
    packages: tuple[str, ...] = ()


_ESPEAK = ("espeak", ("misaki", "phonemizer", "espeakng_loader"))
_INSTALL = {
    # Its newest release keeps Python 3.13 out, where pip would take an old one that brings no espeak-ng. The part that
    # speaks to espeak-ng runs there, and needs only the other two; without addict pip complains.
    "misaki": "--no-deps --ignore-requires-python misaki addict",
    # With what they depend on, of which nothing is torch and all goes beside the packages that ComfyUI has.
    "phonemizer": "phonemizer-fork",
    "pyopenjtalk": "pyopenjtalk-plus",
    "espeakng_loader": "espeakng-loader",
}
LANGUAGES = (
    Language("a", "en-US", "American English", "english"),
    Language("b", "en-GB", "British English", "english"),
    Language("e", "es", "Spanish", "spanish"),
    Language("f", "fr", "French", *_ESPEAK),
    Language("h", "hi", "Hindi", "hindi"),
    Language("i", "it", "Italian", *_ESPEAK),
    Language("j", "ja", "Japanese", "japanese", ("pyopenjtalk",)),
    Language("p", "pt-BR", "Brazilian Portuguese", *_ESPEAK),
    Language("z", "zh", "Mandarin Chinese", "mandarin", ("jieba", "pypinyin")),
)


def language_of(voice: str, chosen: str = AUTO) -> Language:
    """The language that `voice` reads: the one called `chosen`, or by the first letter of its name.

    Voices of other makers, whose names tell nothing, read American English.
    """
    if chosen != AUTO:
        return next(language for language in LANGUAGES if language.name == chosen)
    is_named = voice[1:3] in ("f_", "m_")
    return next((language for language in LANGUAGES if is_named and voice.startswith(language.letter)), LANGUAGES[0])


def install_commands(packages: Iterable[str]) -> str:
    """How to get `packages`, by their import names, as the middle of a sentence."""
    wanted = [_INSTALL.get(package, package) for package in packages]
    plain = " ".join(each for each in wanted if not each.startswith("-"))
    lines = [*([plain] if plain else []), *(each for each in wanted if each.startswith("-"))]
    return " and ".join(f"`pip install {line}`" for line in lines)


def optional_packages() -> tuple[Extra, ...]:
    """The packages of all front ends."""
    names = dict.fromkeys(package for language in LANGUAGES for package in language.packages)
    return tuple(
        Extra(
            name,
            f"reading {', '.join(language.name for language in LANGUAGES if name in language.packages)}",
            _INSTALL.get(name, ""),
        )
        for name in names
    )
