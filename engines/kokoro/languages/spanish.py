"""Spanish by rules, with the sounds that the voices were trained on: Castilian, as espeak-ng's `es` reads it."""

from __future__ import annotations

import re
import unicodedata

from ....mizuoto_runtime.text.english import Phonemes
from ....mizuoto_runtime.text.english.alphabet import LETTER
from .front_end import FrontEnd, by_words
from .table import Language

_UNSTRESSED = frozenset(
    [
        "a",
        "al",
        "con",
        "de",
        "del",
        "e",
        "el",
        "en",
        "entre",
        "la",
        "las",
        "le",
        "les",
        "lo",
        "los",
        "me",
        "mi",
        "mis",
        "ni",
        "nos",
        "o",
        "os",
        "para",
        "pero",
        "por",
        "que",
        "se",
        "si",
        "sin",
        "sobre",
        "su",
        "sus",
        "te",
        "tu",
        "tus",
        "u",
        "un",
        "una",
        "y",
    ]
)
# (spelling, sound), the first that fits counts.
_SOUNDS = tuple(
    (re.compile(spelling), sound)
    for spelling, sound in (
        ("ch", "ʧ"), ("ll", "ʎ"), ("rr", "r"), ("qu(?=[eiéí])", "k"), ("gu(?=[eiéí])", "ɡ"), ("gü", "ɡw"),
        ("c(?=[eiéí])", "θ"), ("g(?=[eiéí])", "x"), ("ph", "f"), ("^r|(?<=[lns])r", "r"), ("[bv]", "b"), ("[ckq]", "k"),
        ("g", "ɡ"), ("j", "x"), ("ñ", "ɲ"), ("r", "ɾ"), ("x", "ks"), ("y", "ʝ"), ("z", "θ"), ("h", ""), ("ç", "s"),
        (".", r"\g<0>"),
    )
)  # fmt: skip
_ACCENTS = str.maketrans("áéíóú", "aeiou")
_VOWELS = "aeiouáéíóú"
_SOFTENED = re.compile(r"(?<=([aeiouɾlsθjwIAWɪʊ]))([ ˈ]*)([bdɡ])")
_SOFT = {"b": "β", "d": "ð", "ɡ": "ɣ"}


def load(language: Language) -> FrontEnd:
    """The front end; digits are dropped."""
    return convert


def convert(text: str) -> Phonemes:
    """The phonemes of a text, b, d and g softened across words."""
    read = by_words(unicodedata.normalize("NFC", text), LETTER, spanish_word)
    return Phonemes(_softened(read.text), read.dropped)


def spanish_word(word: str) -> str:
    """The phonemes of a word on its own."""
    word = re.sub(r"(?<=[aeou])y$", "i", word.lower())
    if word == "y":
        return "i"
    units = _glides(_units(word))
    vowels = [at for at, unit in enumerate(units) if unit[-1] in _VOWELS]
    if vowels and word not in _UNSTRESSED:
        at = _stressed(units, vowels, word)
        units[at] = f"ˈ{units[at]}"
    sound = "".join(units).translate(_ACCENTS)
    for pair, letter in (("aɪ", "I"), ("eɪ", "A"), ("aʊ", "W")):
        sound = sound.replace(pair, letter)
    return re.sub("n(?=ˈ?[kɡx])", "ŋ", sound)


def _units(word: str) -> list[str]:
    units, at = [], 0
    while at < len(word):
        match, sound = next((match, sound) for spelling, sound in _SOUNDS if (match := spelling.match(word, at)))
        units.append(match.expand(sound))
        at = match.end()
    return [unit for unit in units if unit]


def _glides(units: list[str]) -> list[str]:
    """Unaccented i and u beside another vowel belong to its syllable."""
    found = list(units)
    for at, unit in enumerate(units):
        if unit not in ("i", "u"):
            continue
        before, after = (units[at - 1][-1] if at else ""), (units[at + 1][0] if at + 1 < len(units) else "")
        if after and after in "aeoáéóú" + ("i" if unit == "u" else "u"):
            found[at] = {"i": "j", "u": "w"}[unit]
        elif before and before in "aeoáéó":
            found[at] = {"i": "ɪ", "u": "ʊ"}[unit]
    return found


def _stressed(units: list[str], vowels: list[int], word: str) -> int:
    accented = next((at for at in vowels if units[at][-1] in "áéíóú"), None)
    if accented is not None:
        return accented
    is_second_last = len(vowels) > 1 and re.search("[aeiou][ns]?$", word) is not None
    return vowels[-2 if is_second_last else -1]


def _softened(sound: str) -> str:
    """Between vowels and after most consonants, b, d and g are approximants; not d after l."""
    return _SOFTENED.sub(lambda m: m[2] + (m[3] if m[3] == "d" and m[1] == "l" else _SOFT[m[3]]), sound)
