"""How the next token is chosen: the processors of transformers' `generate`, in its order and with its draws.

Nothing here asks the device for a value. Every draw takes one exponential variate for each token of the vocabulary,
chosen or not, as `torch.multinomial` does: leaving any out would change every later draw.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ..errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to choose.

    Args:
        do_sample: Draw; otherwise the likeliest token is taken and only the penalty counts.
        temperature: Divides the logits; above 0.
        top_k: Draw among so many of the likeliest, and those as likely as the last of them; 0 for all.
        top_p: Draw among the likeliest that together reach this probability; 1 for all.
        repetition_penalty: Makes tokens that were chosen before less likely where above 1.

    Raises:
        InvalidRequest: A value is out of range.
    """

    do_sample: bool = True
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0

    def __post_init__(self) -> None:
        wanted = {
            "temperature": (self.temperature > 0, "above 0"),
            "top_k": (self.top_k >= 0, "0 or more"),
            "top_p": (0 <= self.top_p <= 1, "between 0 and 1"),
            "repetition_penalty": (self.repetition_penalty > 0, "above 0"),
        }
        for name, (is_good, allowed) in wanted.items():
            if not is_good:
                raise InvalidRequest(f"{name} is {getattr(self, name)} and must be {allowed}.")


class Sampler:
    """Chooses the tokens of one generation, for all rows of a batch together; remembers what it chose.

    Args:
        sampling: How to choose.
        batch: Rows.
        vocab_size: Tokens.
        device: Where the logits will be.
        suppressed: Tokens never to choose.
        eos_ids: Tokens not to choose before `min_new_tokens` others were.
        min_new_tokens: See `eos_ids`.
    """

    def __init__(
        self,
        sampling: Sampling,
        batch: int,
        vocab_size: int,
        device: torch.device,
        *,
        suppressed: Sequence[int] = (),
        eos_ids: Sequence[int] = (),
        min_new_tokens: int = 0,
    ) -> None:
        self.sampling = sampling
        self._num_before_eos = min_new_tokens
        self._suppressed = _marked(suppressed, vocab_size, device)
        self._suppressed_at_first = _marked((*suppressed, *eos_ids), vocab_size, device)
        self._penalties: torch.Tensor | None = None  # [B, V], 1 where a token was not chosen yet
        if sampling.repetition_penalty != 1.0:
            self._penalties = torch.ones(batch, vocab_size, device=device)

    def pick(self, logits: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
        """The next token of every row, [B] int64, and remember it.

        Args:
            logits: [B, V]; left as they are.
            generator: Source of the draw; unused without `do_sample`.

        Source: GenerationMixin._sample and its processors, transformers 4.57.3.
        """
        scores = self._allowed(self._penalised(logits.float()))
        ids = self._drawn(scores, generator) if self.sampling.do_sample else scores.argmax(-1)
        if self._penalties is not None:
            self._penalties.scatter_(1, ids[:, None], self.sampling.repetition_penalty)
        self._num_before_eos -= 1
        return ids

    def _penalised(self, scores: torch.Tensor) -> torch.Tensor:
        if self._penalties is None:
            return scores
        return torch.where(scores < 0, scores * self._penalties, scores / self._penalties)

    def _allowed(self, scores: torch.Tensor) -> torch.Tensor:
        mask = self._suppressed if self._num_before_eos <= 0 else self._suppressed_at_first
        return scores if mask is None else scores.masked_fill(mask, -math.inf)

    def _drawn(self, scores: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
        scores = warped(scores, self.sampling)
        probabilities = scores.softmax(-1)
        # What torch.multinomial computes, without the checks that wait for the device.
        waits = torch.empty_like(probabilities).exponential_(1, generator=generator)
        return probabilities.div_(waits).argmax(-1)


def warped(scores: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """`scores` [B, V] by temperature, with minus infinity for what top-k and top-p leave out."""
    if sampling.temperature != 1.0:
        scores = scores / sampling.temperature
    if not 0 < sampling.top_k < scores.shape[-1]:
        return scores if sampling.top_p == 1.0 else scores.masked_fill(_beyond(scores, sampling.top_p), -math.inf)
    best = scores.topk(sampling.top_k).values  # [B, k], falling
    if sampling.top_p == 1.0:
        return scores.masked_fill(scores < best[:, -1:], -math.inf)
    return scores.masked_fill(_beyond_of_best(scores, best, sampling.top_p), -math.inf)


def _beyond(scores: torch.Tensor, top_p: float) -> torch.Tensor:
    """Which `scores` [B, V] are in the least likely 1 - `top_p`."""
    rising, order = scores.sort()
    is_beyond = _rising_beyond(rising, top_p)
    return is_beyond.scatter(1, order, is_beyond)


def _beyond_of_best(scores: torch.Tensor, best: torch.Tensor, top_p: float) -> torch.Tensor:
    """The same, and those less likely than the `best` [B, k], in one pass instead of a sort of V.

    Of equally likely tokens at the border the first ones go, as after a stable sort.
    """
    rising = _rising(scores, best)
    num_beyond = _rising_beyond(rising, top_p).sum(-1, keepdim=True)
    border = rising.gather(-1, num_beyond)
    if scores.device.type == "cpu":
        is_tied = rising.gather(-1, (num_beyond - 1).clamp_(min=0)) == border
        if is_tied.any():  # who goes is up to the sort, which is not stable here
            return _beyond(scores.masked_fill(scores < best[:, -1:], -math.inf), top_p)
        return scores < border
    num_at_border = num_beyond - (rising < border).sum(-1, keepdim=True)
    is_at_border = scores == border
    return (scores < border) | (is_at_border & (is_at_border.cumsum(-1) <= num_at_border))


def _rising(scores: torch.Tensor, best: torch.Tensor) -> torch.Tensor:
    """`scores` [B, V] after top-k, sorted: minus infinities, then as many of the last of the best as tie, the best."""
    last = best[:, -1:]
    vocab_size, top_k = scores.shape[-1], best.shape[-1]
    num_left = (scores >= last).sum(-1, keepdim=True)
    is_out = torch.arange(vocab_size, device=scores.device) < vocab_size - num_left
    rising = last.masked_fill(is_out, -math.inf)
    rising[:, vocab_size - top_k :] = best.flip(-1)
    return rising


def _rising_beyond(rising: torch.Tensor, top_p: float) -> torch.Tensor:
    is_beyond = rising.softmax(-1).cumsum(-1) <= 1 - top_p
    is_beyond[:, -1] = False  # the likeliest always stays
    return is_beyond


def _marked(ids: Sequence[int], vocab_size: int, device: torch.device) -> torch.Tensor | None:
    """[V] boolean, True at `ids`; None without any."""
    if not ids:
        return None
    mask = torch.zeros(vocab_size, dtype=torch.bool)
    mask[list(ids)] = True
    return mask.to(device)
