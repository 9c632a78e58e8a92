"""Beam search: the likeliest continuations of all rows go on, until as many as there are rows have ended.

Source: BeamSearchDecoder with patience 1, openai-whisper 20250625 decoding.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from .search import Candidate


class BeamSearch:
    """The search over one window.

    Args:
        beam_size: Rows.
        eot: The token that ends a text.
        reorder: Given for each row of the next step the row that it continues; `DecoderState.reorder`.

    Attributes:
        rows: What each row has written.
    """

    def __init__(self, beam_size: int, eot: int, reorder: Callable[[Sequence[int]], None]) -> None:
        self.rows: list[tuple[int, ...]] = [()] * beam_size
        self._eot = eot
        self._reorder = reorder
        self._sums = torch.zeros(beam_size)
        self._ended: dict[tuple[int, ...], float] = {}

    def advance(self, logits: torch.Tensor) -> bool:
        """Choose the rows of the next step, [B, V] logits of this one; whether the search is over."""
        beam_size = len(self.rows)
        best = logits.log_softmax(-1).topk(beam_size + 1)
        sums = (self._sums[:, None] + best.values.cpu()).tolist()
        # By what is written: the rows are equal at first, and each continuation counts once.
        scores: dict[tuple[int, ...], tuple[float, int]] = {}
        for source, (row, tokens) in enumerate(zip(self.rows, best.indices.tolist(), strict=True)):
            for token, score in zip(tokens, sums[source], strict=True):
                written = (*row, token)
                scores[written] = (score, source)
        kept: list[tuple[tuple[int, ...], float, int]] = []
        for row in sorted(scores, key=lambda row: scores[row][0], reverse=True):
            score, source = scores[row]
            if row[-1] != self._eot:
                kept.append((row, score, source))
                if len(kept) == beam_size:
                    break
            elif len(self._ended) < beam_size:
                self._ended[row[:-1]] = score
        self.rows = [row for row, _, _ in kept]
        self._sums = torch.tensor([score for _, score, _ in kept])
        self._reorder([source for _, _, source in kept])
        return len(self._ended) >= beam_size

    def candidates(self) -> list[Candidate]:
        """The texts that ended, and the likeliest others if these are fewer than rows."""
        ended = dict(self._ended)
        sums = self._sums.tolist()
        for index in np.argsort(self._sums.numpy())[::-1]:  # numpy's own order of ties, as upstream has it
            if len(ended) >= len(self.rows):
                break
            ended[self.rows[index]] = sums[index]
        return [Candidate(row, score) for row, score in ended.items()]
