"""Choosing a token against transformers' processors, equal draws asserted first (MEMORY C8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
import transformers
from mizuoto.mizuoto_runtime.device import CPU
from mizuoto.mizuoto_runtime.lm.sampling import Sampler, Sampling
from mizuoto.tests.bench.body import best_s, row

ROUNDS, CALLS = 25, 20
SAMPLING = Sampling(temperature=0.9, top_k=50, top_p=0.95, repetition_penalty=1.05)
HISTORY = 200
MAX_RATIO = {3072: 0.65, 65_536: 1.0}


def processors() -> transformers.LogitsProcessorList:
    """What `generate` puts together for SAMPLING."""
    return transformers.LogitsProcessorList(
        [
            transformers.RepetitionPenaltyLogitsProcessor(SAMPLING.repetition_penalty),
            transformers.TemperatureLogitsWarper(SAMPLING.temperature),
            transformers.TopKLogitsWarper(SAMPLING.top_k),
            transformers.TopPLogitsWarper(SAMPLING.top_p),
        ]
    )


def theirs(vocab_size: int, logits: torch.Tensor, num_tokens: int) -> Callable[[], torch.Tensor]:
    """Chooses once, from a history that stays `num_tokens` long."""
    steps, generator, history = processors(), torch.Generator().manual_seed(0), [start(vocab_size)]

    def pick() -> torch.Tensor:
        scores = steps(history[0][:, -num_tokens:], logits.to(copy=True, dtype=torch.float32))
        chosen = torch.multinomial(scores.softmax(-1), 1, generator=generator).squeeze(1)
        history[0] = torch.cat((history[0], chosen[:, None]), 1)
        return chosen

    return pick


def start(vocab_size: int) -> torch.Tensor:
    """A history of HISTORY tokens."""
    return torch.randint(vocab_size, (1, HISTORY), generator=torch.Generator().manual_seed(1))


def ours(vocab_size: int, logits: torch.Tensor) -> Callable[[], torch.Tensor]:
    """Chooses once, from a sampler that remembers the same history."""
    sampler, generator = Sampler(SAMPLING, 1, vocab_size, CPU), torch.Generator().manual_seed(0)
    for token in start(vocab_size)[0]:
        forced = torch.full((1, vocab_size), -1e9)
        forced[0, token] = 1e9
        sampler.pick(forced, torch.Generator())
    return lambda: sampler.pick(logits, generator)


@torch.inference_mode()
def rows_of(vocab_size: int, max_ratio: float) -> Iterable[dict]:
    """The row of one vocabulary."""
    logits = torch.randn(1, vocab_size, generator=torch.Generator().manual_seed(2)) * 3
    growing = ours(vocab_size, logits), theirs(vocab_size, logits, 10**6)
    draws = [[pick().item() for _ in range(60)] for pick in growing]
    if draws[0] != draws[1]:
        raise AssertionError("the sampler and transformers draw different tokens")
    picks = {"ours": ours(vocab_size, logits), "theirs": theirs(vocab_size, logits, HISTORY)}
    best = best_s({name: lambda pick=pick: [pick() for _ in range(CALLS)] for name, pick in picks.items()}, ROUNDS)
    us = {name: seconds * 1e6 / CALLS for name, seconds in best.items()}
    what = f"us to choose of {vocab_size:,}, penalty, top-k 50, top-p .95, against transformers' processors"
    yield row(f"C8-{vocab_size}", what, us["ours"], us["theirs"], max_ratio)


def run() -> Iterable[dict]:
    """All rows."""
    torch.set_num_threads(1)
    for vocab_size, max_ratio in MAX_RATIO.items():
        yield from rows_of(vocab_size, max_ratio)
