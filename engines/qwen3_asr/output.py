"""What the model wrote into language and words; repetitions that nobody says are written once."""

from __future__ import annotations

import re

from .manifest import LANGUAGE_NAMES
from .prompt import TEXT_TAG

MAX_REPEATS = 20
"""So often something may follow itself."""

_SILENCE = "language none"
_LANGUAGE = re.compile(r"language (.+)", re.IGNORECASE)
_CHARACTER = re.compile(rf"(.)\1{{{MAX_REPEATS},}}", re.DOTALL)
_PHRASE = re.compile(rf"(.{{1,20}}?)\1{{{MAX_REPEATS - 1},}}", re.DOTALL)
_TAGS = {name.casefold(): tag for tag, name in LANGUAGE_NAMES.items()}


def parsed(written: str, language: str | None) -> tuple[str, str]:
    """BCP 47 tag and words, each "" if there are none or they are unknown.

    Args:
        written: By the model.
        language: The tag that was asked for, so that the model wrote nothing but words.

    Source: parse_asr_output, qwen-asr 0.0.6 inference/utils.py.
    """
    text = without_repetitions(written.strip())
    if not text:
        return "", ""
    if language:
        return language, text
    about, tag, words = text.partition(TEXT_TAG)
    if not tag:
        return "", text.strip()
    return "" if _SILENCE in about.lower() else _language(about), words.strip()


def without_repetitions(text: str) -> str:
    """`text` with what is repeated `MAX_REPEATS` times or more in it once.

    Source: detect_and_fix_repetitions, qwen-asr 0.0.6 inference/utils.py.
    """
    rest, done = _CHARACTER.sub(r"\1", text), ""
    while found := _PHRASE.search(rest):
        if found.start() > len(rest) - 2 * MAX_REPEATS:
            break  # so near the end, upstream looks for nothing any more
        done += rest[: found.start()] + found[1]
        rest = rest[found.end() :]
    return done + rest


def _language(about: str) -> str:
    names = (_LANGUAGE.match(line.strip()) for line in about.splitlines())
    name = next((found[1].strip() for found in names if found), "")
    return _TAGS.get(name.casefold(), "")
