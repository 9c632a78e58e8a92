"""How one attempt at a window chooses its tokens: the rows it writes, and what comes out of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import torch


class Candidate(NamedTuple):
    """A text that a search came to.

    Attributes:
        ids: Tokens, times among them, without the end of text.
        sum_logprob: Of these tokens, and of the end of text where it was chosen.
    """

    ids: tuple[int, ...]
    sum_logprob: float


class Search(Protocol):
    """Rows of tokens that grow together."""

    @property
    def rows(self) -> Sequence[tuple[int, ...]]:
        """What each row has written so far."""
        ...

    def advance(self, logits: torch.Tensor) -> bool:
        """Choose what comes next by [B, V] logits, minus infinity where forbidden; whether the search is over."""
        ...

    def candidates(self) -> list[Candidate]:
        """The texts to choose among."""
        ...


class SingleSearch:
    """One row: the likeliest token every time, or a draw.

    Args:
        temperature: Divides the logits before a draw; 0 for the likeliest.
        eot: The token that ends a text.
        generator: Source of the draws; unused at temperature 0.

    Source: GreedyDecoder, openai-whisper 20250625 decoding.py.
    """

    def __init__(self, temperature: float, eot: int, generator: torch.Generator) -> None:
        self.rows: list[tuple[int, ...]] = [()]
        self._temperature, self._eot, self._generator = temperature, eot, generator
        self._sum_logprob = torch.zeros(())

    def advance(self, logits: torch.Tensor) -> bool:
        """Write one token, [1, V] logits of this step; whether it ended the text."""
        token = int(logits.argmax()) if self._temperature == 0 else self._drawn(logits / self._temperature)
        self._sum_logprob = self._sum_logprob + logits.log_softmax(-1)[0, token].cpu()
        if token == self._eot:
            return True
        self.rows = [(*self.rows[0], token)]
        return False

    def candidates(self) -> list[Candidate]:
        """The row, ended or not."""
        return [Candidate(self.rows[0], self._sum_logprob.item())]

    def _drawn(self, logits: torch.Tensor) -> int:
        # Normalised twice as torch.distributions.Categorical does it: its rounding decides close draws.
        probabilities = (logits - logits.logsumexp(-1, keepdim=True)).softmax(-1)
        drawn = torch.multinomial(probabilities.to(self._generator.device), 1, generator=self._generator)
        return int(drawn)
