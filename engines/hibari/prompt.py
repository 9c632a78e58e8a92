"""Text to phoneme ids: the English front end and the voice's alphabet."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from ...mizuoto_runtime.context import RequestContext
from ...mizuoto_runtime.errors import NothingToSay
from ...mizuoto_runtime.text import english
from ...mizuoto_runtime.text.english.alphabet import SOUNDS
from .config import PAD_ID


class PhonemeEncoder:
    """Text -> phoneme ids; the front end's data load with the first text.

    Args:
        vocab: JSON file, phoneme -> id.
    """

    def __init__(self, vocab: Path) -> None:
        self._ids: dict[str, int] = json.loads(vocab.read_text(encoding="utf-8"))
        self._g2p = english.load()

    def __call__(self, text: str, ctx: RequestContext) -> torch.Tensor:
        """Phoneme ids with a pad at both ends, [1, T] int64; what cannot be read is reported as a warning.

        Raises:
            NothingToSay: Nothing in `text` can be read as English.
        """
        phonemes = self._g2p.convert(text)
        known = [phoneme for phoneme in phonemes.text if phoneme in self._ids]
        foreign = [phoneme for phoneme in phonemes.text if phoneme not in self._ids]
        if phonemes.dropped or foreign:
            left_out = [*phonemes.dropped, *foreign]
            ctx.report.warn_of("dropped_text", "hibari reads English only and left out:", left_out)
        if SOUNDS.isdisjoint(known):
            raise NothingToSay(
                f'hibari cannot read "{text[:40]}": it speaks English only. Choose a model for that language.'
            )
        return torch.tensor([[PAD_ID, *(self._ids[phoneme] for phoneme in known), PAD_ID]])
