"""Japanese: words and kana by Open JTalk, and a table from kana to phonemes."""

from __future__ import annotations

from ....mizuoto_runtime.text.english import Phonemes
from .front_end import FrontEnd, by_words, tidy
from .table import Language

_ROWS = {
    "": "アイウエオ", "k": "カキクケコ", "ɡ": "ガギグゲゴ", "s": "サシスセソ", "ʣ": "ザジズゼゾ", "t": "タチツテト",
    "d": "ダヂヅデド", "n": "ナニヌネノ", "h": "ハヒフヘホ", "b": "バビブベボ", "p": "パピプペポ", "m": "マミムメモ",
    "ɾ": "ラリルレロ",
}  # fmt: skip
_OTHERS = {
    "シ": "ɕi", "ス": "sɨ", "ジ": "ʥi", "ズ": "zɨ", "チ": "ʨi", "ツ": "ʦɨ", "ヂ": "ʥi", "ヅ": "zɨ", "ニ": "ɲi",
    "ヒ": "çi", "フ": "ɸɯ", "ヤ": "ja", "ユ": "jɯ", "ヨ": "jo", "ワ": "βa", "ヰ": "i", "ヱ": "e", "ヲ": "o",
    "ヴ": "vɯ", "ー": "ː", "ッ": "ʔ",
}  # fmt: skip
_SMALL = {"ャ": "a", "ュ": "ɨ", "ョ": "o", "ァ": "a", "ィ": "i", "ゥ": "ɯ", "ェ": "e", "ォ": "o"}
_NASALS = (("mpb", "m"), ("kɡ", "ŋ"), ("ɲʨʥ", "ɲ"), ("ntdɾz", "n"))  # of ン before these
_OPENING = ("“", "(", "")


def _kana_table() -> dict[str, str]:
    table = {
        kana: consonant + ("ʲ" if vowel == "i" and consonant else "") + vowel
        for consonant, row in _ROWS.items()
        for kana, vowel in zip(row, "aiɯeo", strict=True)
    }
    return table | _OTHERS


_KANA = _kana_table()


def load(language: Language) -> FrontEnd:
    """The front end."""
    import pyopenjtalk  # type: ignore[import-not-found]

    def convert(text: str) -> Phonemes:
        spoken = ""
        dropped: list[str] = []
        for word in pyopenjtalk.run_frontend(text):
            sound = kana_sound(word["pron"].replace("’", ""))
            if not sound:
                mark = by_words(word["string"], "\0", str)  # of no letter
                spoken += f"{' ' if mark.text in _OPENING else ''}{mark.text}"
                dropped += mark.dropped
            else:
                is_apart = word["chain_flag"] != 1 and spoken[-1:] not in _OPENING
                spoken += f"{' ' if is_apart else ''}{sound}"
        return Phonemes(tidy(spoken), tuple(dropped))

    return convert


def kana_sound(kana: str) -> str:
    """The phonemes of katakana: `コンニチワ` -> `koɲɲiʨiβa`; other characters have none.

    Source: misaki 0.9.4, misaki/cutlet.py, whose table the voices were trained with.
    """
    sound = ""
    for at, character in enumerate(kana):
        if character == "ン":
            following = _KANA.get(kana[at + 1 : at + 2], " ")[0]
            sound += next((nasal for firsts, nasal in _NASALS if following in firsts), "ɴ")
        elif character in _SMALL:
            sound = sound[:-1] + _SMALL[character]  # キ + ャ: kʲi -> kʲa; テ + ィ: te -> ti
        else:
            sound += _KANA.get(character, "")
    return sound
