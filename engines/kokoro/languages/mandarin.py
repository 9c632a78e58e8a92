"""Mandarin: words by jieba, pinyin by pypinyin, and a table from pinyin to phonemes."""

from __future__ import annotations

import re

from ....mizuoto_runtime.text.english import Phonemes
from ....mizuoto_runtime.text.normalise import normalise
from .front_end import FrontEnd, by_words
from .table import Language

_HAN = "[\u4e00-\u9fff]"
_INITIALS = {
    "zh": "ꭧ", "ch": "ꭧʰ", "sh": "ʂ", "b": "p", "p": "pʰ", "m": "m", "f": "f", "d": "t", "t": "tʰ", "n": "n", "l": "l",
    "g": "k", "k": "kʰ", "h": "x", "j": "ʨ", "q": "ʨʰ", "x": "ɕ", "r": "ɻ", "z": "ʦ", "c": "ʦʰ", "s": "s",
}  # fmt: skip
# The tone stands at "-": after the vowel, before a final nasal.
_FINALS = {
    "a": "a-", "ai": "ai-", "an": "a-n", "ang": "a-ŋ", "ao": "au-", "e": "ɤ-", "ei": "ei-", "en": "ə-n", "eng": "ə-ŋ",
    "i": "i-", "ia": "ja-", "ian": "jɛ-n", "iang": "ja-ŋ", "iao": "jau-", "ie": "je-", "in": "i-n", "iou": "jou-",
    "ing": "i-ŋ", "iong": "jʊ-ŋ", "ong": "ʊ-ŋ", "ou": "ou-", "u": "u-", "uei": "wei-", "ua": "wa-", "uai": "wai-",
    "uan": "wa-n", "uen": "wə-n", "uang": "wa-ŋ", "ueng": "wə-ŋ", "uo": "wo-", "o": "wo-", "ü": "y-", "üe": "ɥe-",
    "üan": "ɥɛ-n", "ün": "y-n",
}  # fmt: skip
_WHOLE = {
    "er": "ɚ-", "o": "ɔ-", "io": "jɔ-", "yo": "jɔ-", "ê": "ɛ-", "m": "m-", "n": "n-", "ng": "ŋ-", "hm": "hm-",
    "hng": "hŋ-",
}  # fmt: skip
_TONES = {"1": "→", "2": "↗", "3": "↓", "4": "↘", "5": ""}
_SHORT = {"iu": "iou", "ui": "uei", "un": "uen"}
_BUZZING = frozenset(("zh", "ch", "sh", "r", "z", "c", "s"))  # after these, "i" is another vowel
_SYLLABLE = re.compile(r"([a-zêü]+)([1-5])")


def load(language: Language) -> FrontEnd:
    """The front end; numbers are read, too, and Latin letters are dropped."""
    import jieba  # type: ignore[import-untyped]
    import pypinyin

    jieba.setLogLevel("WARNING")  # it tells everybody when it loads

    def sound(word: str) -> str:
        style = pypinyin.Style.TONE3
        return "".join(map(pinyin_sound, pypinyin.lazy_pinyin(word, style=style, neutral_tone_with_five=True)))

    def convert(text: str) -> Phonemes:
        return by_words(normalise(text, language.tag), _HAN, lambda run: " ".join(map(sound, jieba.lcut(run))))

    return convert


def pinyin_sound(syllable: str) -> str:
    """The phonemes of a syllable with its tone, `hao3` -> `xau↓`; a character that is no pinyin has none.

    Source: misaki 0.9.4, misaki/transcription.py, from which only "yo" differs.
    """
    match = _SYLLABLE.fullmatch(syllable.replace("v", "ü"))
    if match is None:
        return ""
    base, tone = match[1], _TONES[match[2]]
    if base in _WHOLE:
        return _WHOLE[base].replace("-", tone)
    initial = next((initial for initial in _INITIALS if base.startswith(initial)), "")
    final = _full_final(initial, base[len(initial) :])
    if final == "i" and initial in _BUZZING:
        return f"{_INITIALS[initial]}ɨ{tone}"
    return _INITIALS.get(initial, "") + _FINALS.get(final, "").replace("-", tone)


def _full_final(initial: str, final: str) -> str:
    """A final as it is spelled behind most initials."""
    if not initial:
        final = re.sub("^yu", "ü", final)
        final = re.sub("^(yi|y)", "i", re.sub("^(wu|w)", "u", final))
    elif initial in "jqx":
        final = re.sub("^u", "ü", final)
    return _SHORT.get(final, final)
