"""What every front end is: a function of text, found by language, with the packages that it wants there."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from ....mizuoto_runtime.doctor.packages import distribution_of, missing_module
from ....mizuoto_runtime.errors import Unsupported
from ....mizuoto_runtime.text.english import Phonemes
from .table import Language, install_commands

FrontEnd = Callable[[str], Phonemes]
"""Text -> phonemes, and what of the text has none."""

_MARKS = str.maketrans(
    {
        **dict.fromkeys("、，", ", "), **dict.fromkeys("。．।", ". "), "！": "! ", "？": "? ", "：": ": ", "；": "; ",
        **dict.fromkeys("«《「『【", " “"), **dict.fromkeys("»》」』】", "” "), "（": " (", "）": ") ",
        **dict.fromkeys("¿¡"), "–": "—", "\n": " ",
    }
)  # fmt: skip
_KEPT = frozenset(' ,.!?:;“”"()—…')


@cache
def front_end(language: Language) -> FrontEnd:
    """The front end of a language; its data loads with its first text.

    Raises:
        Unsupported: It needs a package that is not installed, or that cannot be imported.
    """
    missing = [package for package in language.packages if find_spec(package) is None]
    if missing:
        raise Unsupported(
            f"Kokoro reads {language.name} with the optional package{'s' * (len(missing) > 1)} {', '.join(missing)}, "
            f"missing here: run {install_commands(missing)} and restart, or choose another language or voice."
        )
    try:
        loaded: FrontEnd = import_module(f".{language.front_end}", __package__).load(language)
    except (ImportError, AttributeError) as error:  # the latter with phonemizer where its fork is needed
        module = missing_module(str(error))
        wanted = [*language.packages, *([distribution_of(module)] if module else [])]
        raise Unsupported(
            f"Kokoro cannot read {language.name}: {' or '.join(language.packages)} does not work here ({error}): "
            f"run {install_commands(wanted)} and restart, or choose another language or voice."
        ) from error
    return loaded


def by_words(text: str, letter: str, read: Callable[[str], str]) -> Phonemes:
    """`text` with every run of what the regular expression `letter` matches read by `read`.

    Punctuation that makes pauses stays; letters and digits besides are reported as dropped.
    """
    spoken: list[str] = []
    dropped: list[str] = []
    for index, run in enumerate(re.split(f"((?:{letter})+)", text.translate(_MARKS))):
        if index % 2:
            spoken.append(read(run))
        else:
            spoken.append("".join(character for character in run if character in _KEPT))
            dropped += re.findall(r"[^\W_]+", run)
    return Phonemes(tidy("".join(spoken)), tuple(dropped))


def tidy(phonemes: str) -> str:
    """Single spaces, none before punctuation that closes."""
    return re.sub(r" +(?=[,.;:!?”)])", "", re.sub(r"\s+", " ", phonemes)).strip()
