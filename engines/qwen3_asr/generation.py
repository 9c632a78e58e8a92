"""The loop that writes tokens until a passage is over."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import torch

from ...mizuoto_runtime.errors import EngineError
from ...mizuoto_runtime.lm.cache import GrowingCache
from ...mizuoto_runtime.lm.sampling import Sampler, Sampling
from .decoder import TextDecoder
from .ending import BUDGET, EOS, LOOP, LOOP_REPEATS, loop_period
from .prompt import Prompt


@dataclass(frozen=True, slots=True)
class Choices:
    """How tokens are chosen, and when a passage is over.

    Attributes:
        sampling: Of each token.
        budget: Most tokens.
        eos_ids: Tokens that end it.
    """

    sampling: Sampling
    budget: int
    eos_ids: Collection[int]


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a passage: its tokens without the one that ended it, and EOS, BUDGET or LOOP."""

    ids: list[int]
    ending: str


def generate(
    decoder: TextDecoder,
    prompt: Prompt,
    audio: torch.Tensor,
    choices: Choices,
    generator: torch.Generator | None,
    check: Callable[[int], None],
) -> Written:
    """What `decoder` writes about `audio`.

    Of what is repeated without end, it is left in once.

    Args:
        decoder: Ready on its device.
        prompt: What it is asked.
        audio: [T, hidden_size], anywhere.
        choices: How it chooses.
        generator: On its device; not needed where nothing is sampled.
        check: Called once a token with the number written so far; may raise to cancel.

    Raises:
        EngineError: The model's numbers overflowed.

    Source: qwen-asr 0.0.6, Qwen3ASRForConditionalGeneration.generate with transformers 4.57.3's `generate`.
    """
    cache, ids = GrowingCache(), list[int]()
    hidden = decoder.read(prompt, audio, cache)
    sampler = Sampler(choices.sampling, 1, decoder.config.vocab_size, hidden.device)
    ending = ""
    while not ending:
        check(len(ids))
        (token,) = sampler.pick(decoder.scores(hidden), generator).tolist()
        if token in choices.eos_ids:
            ending = EOS
            continue
        ids.append(token)
        period = loop_period(ids)
        if period:
            del ids[-period * (LOOP_REPEATS - 1) :]
            ending = LOOP
        elif len(ids) == choices.budget:
            ending = BUDGET
        else:
            hidden = decoder.go_on([token], cache)
    _refuse_overflow(hidden)
    return Written(ids, ending)


def _refuse_overflow(hidden: torch.Tensor) -> None:
    # Once a state is not finite it stays in the cache, so the last one tells of all before.
    if not bool(hidden[:, -1].isfinite().all()):
        raise EngineError(
            f"The model's numbers overflowed in {str(hidden.dtype).removeprefix('torch.')}, so there is no transcript; "
            "load it with dtype bf16 or fp32."
        )
