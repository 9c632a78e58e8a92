"""The languages of the voices. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass

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
        install: What pip calls them.
    """

    letter: str
    tag: str
    name: str
    front_end: str
    packages: tuple[str, ...] = ()
    install: str = ""


_ESPEAK = ("espeak", ("misaki", "phonemizer", "espeakng_loader"), "misaki phonemizer-fork espeakng-loader")
LANGUAGES = (
    Language("a", "en-US", "American English", "english"),
    Language("b", "en-GB", "British English", "english"),
    Language("e", "es", "Spanish", "spanish"),
    Language("f", "fr", "French", *_ESPEAK),
    Language("h", "hi", "Hindi", "hindi"),
    Language("i", "it", "Italian", *_ESPEAK),
    Language("j", "ja", "Japanese", "japanese", ("pyopenjtalk",), "pyopenjtalk-plus"),
    Language("p", "pt-BR", "Brazilian Portuguese", *_ESPEAK),
    Language("z", "zh", "Mandarin Chinese", "mandarin", ("jieba", "pypinyin"), "jieba pypinyin"),
)


def language_of(voice: str, chosen: str = AUTO) -> Language:
    """The language that `voice` reads: the one called `chosen`, or by the first letter of its name.

    Voices of other makers, whose names tell nothing, read American English.
    """
    if chosen != AUTO:
        return next(language for language in LANGUAGES if language.name == chosen)
    is_named = voice[1:3] in ("f_", "m_")
    return next((language for language in LANGUAGES if is_named and voice.startswith(language.letter)), LANGUAGES[0])


def optional_packages() -> tuple[tuple[str, str], ...]:
    """(import name, what it is for) of the packages of all front ends."""
    names = dict.fromkeys(package for language in LANGUAGES for package in language.packages)
    return tuple(
        (name, f"reading {', '.join(language.name for language in LANGUAGES if name in language.packages)}")
        for name in names
    )
