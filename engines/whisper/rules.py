"""Which tokens may follow what was written: no blank beginning, no signs that nobody says, times in rising pairs.

Source: SuppressBlank, SuppressTokens and ApplyTimestampRules, openai-whisper 20250625 decoding.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from .model import Tokens

MAX_FIRST_TIME = 50  # steps of 0.02 s: speech starts within the first second of a window or at its next attempt


class TokenRules:
    """The rules for one checkpoint.

    Args:
        tokens: Its ids.
        vocab_size: Columns of the logits.
        device: Where the logits are.
    """

    def __init__(self, tokens: Tokens, vocab_size: int, device: torch.device) -> None:
        self._time_begin, self._eot = tokens.timestamp_begin, tokens.eot
        never = torch.zeros(vocab_size, dtype=torch.bool)
        never[[*tokens.non_speech, tokens.no_timestamps]] = True
        first = never.clone()
        first[: self._time_begin] = True
        first[self._time_begin + MAX_FIRST_TIME + 1 :] = True
        self._never, self._never_first = never.to(device), first.to(device)

    def apply(self, logits: torch.Tensor, rows: Sequence[Sequence[int]]) -> None:
        """Set the logits of what must not follow to minus infinity, in place.

        Args:
            logits: [B, V] float32.
            rows: What each row has written, without what it was started with; all of one length.
        """
        if not rows[0]:
            logits.masked_fill_(self._never_first, -math.inf)
            return
        logits.masked_fill_(self._never, -math.inf)
        for scores, row in zip(logits, rows, strict=True):
            self._keep_times_paired(scores, row)
        self._prefer_times(logits)

    def _keep_times_paired(self, scores: torch.Tensor, row: Sequence[int]) -> None:
        begin = self._time_begin
        is_after_time = row[-1] >= begin
        is_opened = is_after_time and (len(row) < 2 or row[-2] >= begin)
        if is_opened:
            scores[begin:] = -math.inf
        elif is_after_time:  # it closed a segment: another one is opened, or the text ends
            scores[: self._eot] = -math.inf
        last = next((token for token in reversed(row) if token >= begin), None)
        if last is not None:
            # Only the time that opens may repeat the one that closed: a segment is never empty.
            scores[begin : last + (0 if is_after_time and not is_opened else 1)] = -math.inf

    def _prefer_times(self, logits: torch.Tensor) -> None:
        """Leave only times where together they are likelier than any text."""
        begin = self._time_begin
        logprobs = logits.log_softmax(-1)
        of_times = torch.stack([row[begin:].logsumexp(-1) for row in logprobs])  # upstream's sums, row by row
        is_time = of_times > logprobs[:, :begin].amax(-1)
        logits[:, :begin].masked_fill_(is_time[:, None], -math.inf)
