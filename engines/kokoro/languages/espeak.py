"""French, Italian and Portuguese: espeak-ng through misaki, which the voices were trained with."""

from __future__ import annotations

from ....mizuoto_runtime.text.english import Phonemes
from .front_end import FrontEnd
from .table import Language

_NAMES = {"fr": "fr-fr", "it": "it", "pt-BR": "pt-br"}


def load(language: Language) -> FrontEnd:
    """The front end of a language that espeak-ng reads. Source of the names: kokoro 0.9.4, LANG_CODES."""
    from misaki import espeak  # type: ignore[import-untyped]

    convert = espeak.EspeakG2P(language=_NAMES[language.tag])
    return lambda text: Phonemes(convert(text)[0])
