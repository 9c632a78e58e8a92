"""The optional package `wetext` behind the same contract: a text of any size in, nothing raised, breaks kept."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from typing import Any

from ...errors import Unsupported
from ..split import split

_MAX_SIZE = 200  # characters at a time: its time grows faster than the text
_EDGES = re.compile(r"(\s*)(.*?)(\s*)\Z", re.S)
_SOMETHING = re.compile(r"[0-9]|[^\w\s]")


def has_wetext() -> bool:
    """Whether the optional package `wetext` is installed."""
    return find_spec("wetext") is not None


def require_wetext() -> None:
    """Nothing, if the optional package is there.

    Raises:
        Unsupported: It is not installed.
    """
    if not has_wetext():
        raise Unsupported(
            "The text engine 'wetext' is not installed: run `pip install wetext`, or choose another way to normalise."
        )


@cache
def _normalizer(language: str) -> Any:
    import wetext  # type: ignore[import-not-found]

    return wetext.Normalizer(lang=language, operator="tn")


def by_wetext(text: str, language: str) -> str:
    """`text` as `wetext` reads it, sentence by sentence; a sentence that it cannot read stays as it is.

    Raises:
        Unsupported: The package is not installed.
    """
    require_wetext()
    return "".join(_read(line, language) for line in text.splitlines(keepends=True))


def _read(line: str, language: str) -> str:
    out = []
    for piece in split(line, _MAX_SIZE):
        m = _EDGES.match(piece)
        before, core, after = m.groups() if m else ("", piece, "")
        out += [before, _sentence(core, language), after]
    return "".join(out)


def _sentence(text: str, language: str) -> str:
    if not _SOMETHING.search(text):
        return text
    try:
        return str(_normalizer(language).normalize(text))
    except (AssertionError, IndexError, KeyError, RuntimeError, TypeError, ValueError):
        return text  # it fails on odd characters, and what cannot be read better is spoken as written
