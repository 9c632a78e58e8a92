"""Hindi by rules, with the sounds that the voices were trained on: as espeak-ng's `hi` reads it."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from ....mizuoto_runtime.text.english import Phonemes
from .front_end import FrontEnd, by_words
from .table import Language

_LETTER = "[\u0900-\u0963\u0971-\u097f]"
_CONSONANTS = dict(
    zip(
        "कखगघङचछजझञटठडढणतथदधनपफबभमयरलवशषसह",
        [
            "k",
            "kʰ",
            "ɡ",
            "ɡʰ",
            "ŋ",
            "c",
            "cʰ",
            "ɟ",
            "ɟʰ",
            "ɲ",
            "ʈ",
            "ʈʰ",
            "ɖ",
            "ɖʰ",
            "ɳ",
            "t",
            "tʰ",
            "d",
            "dʰ",
            "n",
            "p",
            "pʰ",
            "b",
            "bʰ",
            "m",
            "j",
            "ɾ",
            "l",
            "ʋ",
            "ʃ",
            "ʂ",
            "s",
            "h",
        ],
        strict=True,
    )
)
_DOTTED = {"क": "q", "ख": "x", "ग": "ɣ", "ज": "z", "फ": "f", "ड": "ɽ", "ढ": "ɽʰ"}
_VOWELS = dict(zip("अआइईउऊऋएऐओऔऑ", ["ə", "aː", "ɪ", "iː", "ʊ", "uː", "ɾɪ", "eː", "ɛː", "oː", "ɔː", "ɔː"], strict=True))
_SIGNS = dict(zip("ािीुूृेैोौॉ", ["aː", "ɪ", "iː", "ʊ", "uː", "ɾɪ", "eː", "ɛː", "oː", "ɔː", "ɔː"], strict=True))
_NO_VOWEL, _DOT, _NASAL_SIGNS, _BREATH = "्", "़", "ंँ", "ः"
_INHERENT = "ə"
_UNSTRESSED = frozenset(
    [
        "है",
        "हैं",
        "हो",
        "और",
        "का",
        "की",
        "के",
        "को",
        "में",
        "से",
        "पर",
        "ने",
        "भी",
        "तो",
        "ही",
        "कि",
        "या",
        "था",
        "थी",
        "थे",
        "जो",
        "यह",
        "वह",
        "इस",
        "उस",
    ]
)


@dataclass
class _Unit:
    """A consonant and the vowel after it, either may be ""."""

    consonant: str
    vowel: str
    letter: str
    is_nasal: bool = False


def load(language: Language) -> FrontEnd:
    """The front end; digits and letters of other scripts are dropped."""
    return convert


def convert(text: str) -> Phonemes:
    """The phonemes of a text."""
    return by_words(text, _LETTER, hindi_word)


def hindi_word(word: str) -> str:
    """The phonemes of a word."""
    units = _units(word)
    _drop_inherent_vowels(units)
    stressed = None if word in _UNSTRESSED else _stressed(units)
    return "".join(
        _sound(unit, units[at + 1].consonant if at + 1 < len(units) else "", at == stressed)
        for at, unit in enumerate(units)
    )


def _units(word: str) -> list[_Unit]:
    units: list[_Unit] = []
    for character in unicodedata.normalize("NFD", word):
        if character in _CONSONANTS:
            units.append(_Unit(_CONSONANTS[character], _INHERENT, character))
        elif character in _VOWELS:
            units.append(_Unit("", _VOWELS[character], character))
        elif units:
            _modify(units[-1], character)
    return units


def _modify(unit: _Unit, sign: str) -> None:
    if sign == _DOT:
        unit.consonant = _DOTTED.get(unit.letter, unit.consonant)
    elif sign in _SIGNS:
        unit.vowel = _SIGNS[sign]
    elif sign == _NO_VOWEL:
        unit.vowel = ""
    elif sign in _NASAL_SIGNS:
        unit.is_nasal = True
    elif sign == _BREATH:
        unit.vowel += "h"


def _drop_inherent_vowels(units: list[_Unit]) -> None:
    """The last one is silent, and so is one between vowel, consonant and consonant, vowel; from the right."""
    if len(units) > 1 and units[-1].vowel == _INHERENT and not units[-1].is_nasal:
        units[-1].vowel = ""
    for before, here, after in reversed(list(zip(units, units[1:], units[2:], strict=False))):
        is_between = here.consonant and after.consonant and after.vowel and before.vowel
        if here.vowel == _INHERENT and not here.is_nasal and is_between:
            here.vowel = ""


def _stressed(units: list[_Unit]) -> int | None:
    """The first heavy syllable but the last, or else the first."""
    vowels = [at for at, unit in enumerate(units) if unit.vowel]

    def is_heavy(at: int) -> bool:
        is_closed = at + 1 < len(units) and not units[at + 1].vowel
        return "ː" in units[at].vowel or units[at].is_nasal or is_closed

    return next((at for at in vowels[:-1] if is_heavy(at)), vowels[0] if vowels else None)


def _sound(unit: _Unit, following: str, is_stressed: bool) -> str:
    vowel = unit.vowel
    if is_stressed:
        vowel = "ˈ" + ("ʌ" if vowel == _INHERENT else vowel)
    if not unit.is_nasal:
        return unit.consonant + vowel
    if not following or following[0] in "hjɾlʋʃʂs" or "ː" in vowel:
        at = 1 + is_stressed
        return f"{unit.consonant}{vowel[:at]}\u0303{vowel[at:]}"
    nasal = "m" if following[0] in "pb" else "ŋ" if following[0] in "kɡ" else "n"
    return unit.consonant + vowel + nasal
