"""The loop that finds the codes of a prompt's frames: all are masked, and every step fixes those it is surest of."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
import torch.nn.functional as F

from ...mizuoto_runtime.errors import EngineError
from .prompt import Prompt
from .talker import GuidedPair, Talker

_TRIED_SHARE = 0.1  # of the codes, the likeliest, that are drawn from
_TINY = 1e-10


@dataclass(frozen=True, slots=True)
class Choices:
    """How codes are chosen.

    Attributes:
        steps: How many.
        guidance: How far the prompt is followed beyond what the model says of it; 0 is not at all.
        t_shift: Below 1 the first steps fix fewer codes than the last.
        layer_penalty: How much later each codebook is fixed than the one before it.
        position_temperature: Chance in which codes are fixed first; 0 is none.
        class_temperature: Chance in what they are; 0 takes the likeliest.
    """

    steps: int
    guidance: float
    t_shift: float
    layer_penalty: float
    position_temperature: float
    class_temperature: float


def generate(
    talker: Talker,
    prompt: Prompt,
    choices: Choices,
    generator: torch.Generator,
    device: torch.device,
    check: Callable[[int], None],
) -> torch.Tensor:
    """Codes [K, T] int64 on the CPU.

    Every step draws noise of the codes, if any, then of the positions.

    Args:
        talker: The model, ready on `device`.
        prompt: What is said.
        choices: How.
        generator: Of `device`.
        device: Where to work.
        check: Called with the number of every step before it; may raise.

    Raises:
        EngineError: The numbers overflowed.

    Source: OmniVoice._generate_iterative, omnivoice 0.2.1, for one text.
    """
    config = talker.config
    rows = 2 if choices.guidance else 1
    opening = talker.opening(prompt, device)
    pair = GuidedPair(len(opening) + prompt.frames, prompt.frames, rows, device)
    codes = torch.full((config.num_codebooks, prompt.frames), config.mask_id, device=device)
    penalty = torch.arange(config.num_codebooks, device=device)[:, None] * choices.layer_penalty
    is_broken = torch.zeros((), dtype=torch.bool, device=device)  # asked once: a card would have to be waited for
    for step, count in enumerate(schedule(codes.numel(), choices.steps, choices.t_shift)):
        check(step)
        if not count:  # nothing is drawn either
            continue
        found, score = _chosen(talker(opening, codes, pair, rows), config.mask_id, choices, generator)
        is_broken |= score.isnan().any()
        score = score - penalty
        if choices.position_temperature > 0:
            score = _perturbed(score, choices.position_temperature, generator)
        score = score.masked_fill(codes != config.mask_id, -math.inf)
        best = score.flatten().topk(count).indices
        codes.view(-1)[best] = found.flatten()[best]
    if is_broken:
        raise EngineError("The model's numbers overflowed; load it with dtype bf16 or fp32.")
    return codes.cpu()


def schedule(total: int, steps: int, t_shift: float) -> list[int]:
    """How many of `total` codes each step fixes; the last takes what is left."""
    grid = torch.linspace(0.0, 1.0, steps + 1)
    grid = t_shift * grid / (1 + (t_shift - 1) * grid)
    times: list[float] = grid.tolist()
    left, counts = total, []
    for start, stop in pairwise(times[:-1]):
        counts.append(min(math.ceil(total * (stop - start)), left))
        left -= counts[-1]
    return [*counts, left]


def _chosen(
    logits: Sequence[torch.Tensor], mask_id: int, choices: Choices, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores of both rows -> a code for every place and its log probability, [K, T] each."""
    found = F.log_softmax(logits[0], dim=-1)
    if len(logits) > 1:
        blank = F.log_softmax(logits[1], dim=-1)
        found = F.log_softmax(found + choices.guidance * (found - blank), dim=-1)
    found[..., mask_id] = -math.inf
    score, codes = found.max(dim=-1)
    if choices.class_temperature > 0:
        values, places = found.topk(math.ceil(_TRIED_SHARE * found.shape[-1]), dim=-1)
        likely = torch.full_like(found, -math.inf).scatter_(-1, places, values)
        codes = _perturbed(likely, choices.class_temperature, generator).argmax(dim=-1)
    return codes, score


def _perturbed(score: torch.Tensor, temperature: float, generator: torch.Generator) -> torch.Tensor:
    """`score` over the temperature, plus Gumbel noise: its largest place is a draw from the softmax."""
    uniform = torch.rand(score.shape, generator=generator, device=score.device)
    return score / temperature + -torch.log(-torch.log(uniform + _TINY) + _TINY)
