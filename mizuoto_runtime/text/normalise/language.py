"""A guess of the language of a text, for texts that come without one."""

from __future__ import annotations

import re

_KANA = re.compile("[\u3040-\u30ff\uff66-\uff9f]")
_HAN = re.compile("[\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_HANGUL = re.compile("[\u1100-\u11ff\uac00-\ud7a3]+")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]+(?:['’][A-Za-z]+)?")
_LETTER = re.compile(r"[^\W\d_]")
_KANA_SHARE = 0.1  # of kana and ideographs: Japanese prose has half, a Chinese text may quote a name


def guess_language(text: str) -> str:
    """The language by the script that most words are in: "zh", "ja", "ko", "en", or "" for others and for none.

    An ideograph counts as a word. Languages in Latin letters are not told apart: all are "en".
    """
    kana, han = len(_KANA.findall(text)), len(_HAN.findall(text))
    words = {"ko": len(_HANGUL.findall(text)), "en": len(_LATIN.findall(text))}
    words["ja" if kana > _KANA_SHARE * (kana + han) else "zh"] = kana + han
    best = max(words, key=lambda language: words[language])
    if words[best]:
        return best if best != "en" or _is_mostly_latin(text) else ""
    return ""


def _is_mostly_latin(text: str) -> bool:
    num_latin = sum(map(len, _LATIN.findall(text)))
    return 2 * num_latin >= len(_LETTER.findall(text))
