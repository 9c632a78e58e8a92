"""The languages of Whisper: its own codes, and the tags that others know them by. Imports no torch."""

from __future__ import annotations

CODES = (
    "en", "zh", "de", "es", "ru", "ko", "fr", "ja", "pt", "tr", "pl", "ca", "nl", "ar", "sv", "it", "id",
    "hi", "fi", "vi", "he", "uk", "el", "ms", "cs", "ro", "da", "hu", "ta", "no", "th", "ur", "hr", "bg",
    "lt", "la", "mi", "ml", "cy", "sk", "te", "fa", "lv", "bn", "sr", "az", "sl", "kn", "et", "mk", "br",
    "eu", "is", "hy", "ne", "mn", "bs", "kk", "sq", "sw", "gl", "mr", "pa", "si", "km", "sn", "yo", "so",
    "af", "oc", "ka", "be", "tg", "sd", "gu", "am", "yi", "lo", "uz", "fo", "ht", "ps", "tk", "nn", "mt",
    "sa", "lb", "my", "bo", "tl", "mg", "as", "tt", "haw", "ln", "ha", "ba", "jw", "su", "yue",
)  # fmt: skip
"""In the order of their tokens; the last one came with large-v3."""

_TAGS = {"jw": "jv"}  # code -> BCP 47 tag, where they differ


def tag_of(code: str) -> str:
    """The BCP 47 tag of one of Whisper's codes."""
    return _TAGS.get(code, code)


TAGS = tuple(map(tag_of, CODES))
"""BCP 47, in the order of `CODES`."""


def code_of(tag: str) -> str:
    """Whisper's code of a BCP 47 tag out of `TAGS`."""
    return CODES[TAGS.index(tag)]
