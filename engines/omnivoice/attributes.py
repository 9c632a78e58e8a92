"""The closed list of attributes by which a voice is designed. Imports no torch."""

from __future__ import annotations

import re

from ...mizuoto_runtime.errors import InvalidRequest, did_you_mean

# Category -> English -> Chinese; of each category a voice has at most one. "" where a language has no such word.
CATEGORIES: dict[str, tuple[tuple[str, str], ...]] = {
    "gender": (("male", "男"), ("female", "女")),
    "age": (
        ("child", "儿童"), ("teenager", "少年"), ("young adult", "青年"), ("middle-aged", "中年"), ("elderly", "老年"),
    ),
    "pitch": (
        ("very low pitch", "极低音调"), ("low pitch", "低音调"), ("moderate pitch", "中音调"), ("high pitch", "高音调"),
        ("very high pitch", "极高音调"),
    ),
    "style": (("whisper", "耳语"),),
    "accent": tuple(
        (f"{kind} accent", "")
        for kind in (
            "american", "british", "australian", "chinese", "canadian", "indian", "korean", "portuguese", "russian",
            "japanese",
        )
    ),
    "dialect": tuple(
        ("", f"{place}话")
        for place in (
            "河南", "陕西", "四川", "贵州", "云南", "桂林", "济南", "石家庄", "甘肃", "宁夏", "青岛", "东北",
        )
    ),
}  # fmt: skip
_HAN = re.compile("[\u4e00-\u9fff]")
_SEPARATOR = re.compile(r"\s*[,，]\s*")
_CATEGORY = {word: name for name, pairs in CATEGORIES.items() for pair in pairs for word in pair if word}
_CHINESE = {english: chinese for pairs in CATEGORIES.values() for english, chinese in pairs if english and chinese}
_ENGLISH = {chinese: english for english, chinese in _CHINESE.items()}


def resolved(description: str, text: str = "") -> str:
    """The attributes in `description` as the model knows them: in one language, joined as in its training.

    Args:
        description: Attributes between commas, in English or Chinese, in any order; "" is none.
        text: What is said: Chinese in it makes the list Chinese, unless an accent is among them.

    Raises:
        InvalidRequest: One is none of the list, two are of one category, or a dialect meets an accent.

    Source: _resolve_instruct, omnivoice 0.2.1 models/omnivoice.py.
    """
    words = [word.lower() for word in _SEPARATOR.split(description.strip()) if word]
    for word in words:
        if word not in _CATEGORY:
            raise InvalidRequest(
                f'"{word[:40]}" is no attribute of a voice that OmniVoice knows; it takes, between commas, at most one '
                f"of each: {_listed()}.{did_you_mean(word, _CATEGORY)}"
            )
    kinds = [_CATEGORY[word] for word in words]
    if "dialect" in kinds and "accent" in kinds:
        raise InvalidRequest(
            "A voice cannot have a Chinese dialect and an accent in English at once; leave out one of the two."
        )
    for kind in kinds:
        if kinds.count(kind) > 1:
            twice = ", ".join(word for word, other in zip(words, kinds, strict=True) if other == kind)
            raise InvalidRequest(f"A voice has one {kind} only, and there are several: {twice}. Leave one.")
    is_chinese = "dialect" in kinds or ("accent" not in kinds and bool(_HAN.search(text)))
    table = _CHINESE if is_chinese else _ENGLISH
    found = [table.get(word, word) for word in words]
    return ("，" if any(map(_HAN.search, found)) else ", ").join(found)


def _listed() -> str:
    return "; ".join(
        f"{name} ({', '.join(english or chinese for english, chinese in pairs)})" for name, pairs in CATEGORIES.items()
    )
