"""Languages that recognition engines know: BCP 47 tags, their English names, and what users type for them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..errors import InvalidRequest, did_you_mean

AUTO = "auto"

# Tag -> English name.
NAMES: dict[str, str] = {
    "af": "Afrikaans", "sq": "Albanian", "am": "Amharic", "ar": "Arabic", "hy": "Armenian", "as": "Assamese",
    "az": "Azerbaijani", "ba": "Bashkir", "eu": "Basque", "be": "Belarusian", "bn": "Bengali", "bs": "Bosnian",
    "br": "Breton", "bg": "Bulgarian", "my": "Burmese", "yue": "Cantonese", "ca": "Catalan", "zh": "Chinese",
    "hr": "Croatian", "cs": "Czech", "da": "Danish", "nl": "Dutch", "en": "English", "et": "Estonian",
    "fo": "Faroese", "fil": "Filipino", "fi": "Finnish", "fr": "French", "gl": "Galician", "ka": "Georgian",
    "de": "German", "el": "Greek", "gu": "Gujarati", "ht": "Haitian Creole", "ha": "Hausa", "haw": "Hawaiian",
    "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian", "is": "Icelandic", "id": "Indonesian", "it": "Italian",
    "ja": "Japanese", "jv": "Javanese", "kn": "Kannada", "kk": "Kazakh", "km": "Khmer", "ko": "Korean", "lo": "Lao",
    "la": "Latin", "lv": "Latvian", "ln": "Lingala", "lt": "Lithuanian", "lb": "Luxembourgish", "mk": "Macedonian",
    "mg": "Malagasy", "ms": "Malay", "ml": "Malayalam", "mt": "Maltese", "mi": "Maori", "mr": "Marathi",
    "mn": "Mongolian", "ne": "Nepali", "no": "Norwegian", "nn": "Norwegian Nynorsk", "oc": "Occitan", "ps": "Pashto",
    "fa": "Persian", "pl": "Polish", "pt": "Portuguese", "pa": "Punjabi", "ro": "Romanian", "ru": "Russian",
    "sa": "Sanskrit", "sr": "Serbian", "sn": "Shona", "sd": "Sindhi", "si": "Sinhala", "sk": "Slovak",
    "sl": "Slovenian", "so": "Somali", "es": "Spanish", "su": "Sundanese", "sw": "Swahili", "sv": "Swedish",
    "tl": "Tagalog", "tg": "Tajik", "ta": "Tamil", "tt": "Tatar", "te": "Telugu", "th": "Thai", "bo": "Tibetan",
    "tr": "Turkish", "tk": "Turkmen", "uk": "Ukrainian", "ur": "Urdu", "uz": "Uzbek", "vi": "Vietnamese",
    "cy": "Welsh", "yi": "Yiddish", "yo": "Yoruba",
}  # fmt: skip

# Other names and tags that people and models use -> tag.
_ALIASES = {
    "castilian": "es", "farsi": "fa", "flemish": "nl", "haitian": "ht", "letzeburgesch": "lb", "mandarin": "zh",
    "moldavian": "ro", "moldovan": "ro", "myanmar": "my", "nynorsk": "nn", "panjabi": "pa", "pushto": "ps",
    "sinhalese": "si", "valencian": "ca",
    "cmn": "zh", "in": "id", "iw": "he", "ji": "yi", "jw": "jv", "mo": "ro", "nb": "no", "zh-yue": "yue",
}  # fmt: skip
_KIN = {"tl": "fil", "fil": "tl", "nn": "no"}  # a model that knows only the other one is meant, too


def choose_language(text: str, known: Iterable[str] = ()) -> str | None:
    """The one of the tags `known` that a user's choice means, or the pack's own tag of it; None for "auto".

    Raises:
        InvalidRequest: It is no language that the pack knows.
    """
    if text.strip().casefold() == AUTO:
        return None
    tag = find_language(text)
    return match_language(tag, known) or tag


def find_language(text: str) -> str:
    """The tag of a language given as a tag or an English name, in any case, with or without a region.

    Raises:
        InvalidRequest: It is none that the pack knows; the text names the nearest one.
    """
    asked = re.sub(r"[\s_]+", " ", text.strip()).casefold()
    found = _by_name(asked) or _by_tag(asked.replace(" ", "-"))
    if found is None:
        near = did_you_mean(asked, (*NAMES.values(), *_ALIASES))
        raise InvalidRequest(
            f'"{text.strip()[:40]}" is no language that the pack knows; choose one from the list, or "{AUTO}".{near}'
        )
    return found


def match_language(tag: str, known: Iterable[str]) -> str | None:
    """The one of the tags `known` that means the language `tag`, however it is spelled there; None if there is none.

    `tag` is one that `find_language` gives.
    """
    by_language = {_by_tag(other.casefold()) or other.casefold(): other for other in known}
    return by_language.get(tag) or by_language.get(_KIN.get(tag, ""))


def language_name(tag: str) -> str:
    """The English name of a tag, or the tag itself where the pack has none."""
    return NAMES.get(_by_tag(tag.casefold()) or "", tag)


def _by_name(asked: str) -> str | None:
    return next((tag for tag, name in NAMES.items() if name.casefold() == asked), _ALIASES.get(asked))


def _by_tag(asked: str) -> str | None:
    """The tag without region and script: `zh` for `zh-hant-tw`."""
    parts = asked.split("-")
    if len(parts) > 1 and not re.fullmatch(r"[a-z]{2,3}(-[a-z0-9]{2,8})+", asked):
        return None
    candidates = ("-".join(parts[:2]), parts[0])
    return next((tag for part in candidates if (tag := _ALIASES.get(part, part)) in NAMES), None)
