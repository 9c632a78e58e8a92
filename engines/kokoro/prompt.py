"""What the talker is asked: phoneme ids of a text, in pieces that it can read at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

from ...mizuoto_runtime.context import RequestContext
from ...mizuoto_runtime.errors import NothingToSay, Unsupported
from ...mizuoto_runtime.text.english import Phonemes
from ...mizuoto_runtime.text.english.alphabet import SOUNDS
from ...mizuoto_runtime.text.split import split
from .config import BOUNDARY_ID, CheckpointConfig
from .languages.front_end import FrontEnd, front_end
from .languages.table import Language

_BOPOMOFO = "ㄅ"


class PhonemeEncoder:
    """Text -> phonemes -> ids.

    Args:
        config: Of the checkpoint, whose alphabet counts.
    """

    def __init__(self, config: CheckpointConfig) -> None:
        self._ids: Mapping[str, int] = config.vocab
        self._max_phonemes = config.max_phonemes

    def read(self, text: str, language: Language, ctx: RequestContext) -> list[tuple[str, str]]:
        """(text, phonemes) of pieces that fit the talker; what cannot be read is reported as a warning.

        Raises:
            NothingToSay: Nothing in `text` can be read in that language.
            Unsupported: The language needs a package that is not installed, or another checkpoint.
        """
        if _BOPOMOFO in self._ids and language.tag == "zh":
            raise Unsupported(
                "This Kokoro checkpoint (v1.1-zh) reads Chinese in bopomofo, which is not written here; load "
                "Kokoro-82M v1.0 for Chinese."
            )
        found = list(self._pieces(text, front_end(language)))
        dropped: list[str] = []
        for _, phonemes in found:
            dropped += phonemes.dropped
            dropped += (sound for sound in dict.fromkeys(phonemes.text) if sound not in self._ids)
        if dropped:
            ctx.report.warn_of("dropped_text", f"Kokoro reads {language.name} here and left out:", dropped)
        said = [(piece, phonemes.text) for piece, phonemes in found if self._is_sound(phonemes.text)]
        if not said:
            raise NothingToSay(
                f'Kokoro cannot read "{text[:40]}" as {language.name}; choose a voice or the option "language" for it.'
            )
        return said

    def _pieces(self, text: str, read: FrontEnd) -> Iterator[tuple[str, Phonemes]]:
        phonemes = read(text)
        if len(phonemes.text) <= self._max_phonemes:
            yield text, phonemes
        else:
            for half in split(text, -(-len(text) // 2)):
                yield from self._pieces(half, read)

    def _is_sound(self, phonemes: str) -> bool:
        return any(phoneme in SOUNDS and phoneme in self._ids for phoneme in phonemes)

    def ids(self, phonemes: str) -> torch.Tensor:
        """[1, T] int64 with a boundary at both ends; phonemes that the model does not know are left out."""
        known = [self._ids[phoneme] for phoneme in phonemes if phoneme in self._ids]
        return torch.tensor([[BOUNDARY_ID, *known, BOUNDARY_ID]])
