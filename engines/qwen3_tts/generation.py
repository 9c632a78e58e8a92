"""The loop that makes frames: talker, code predictor, talker, ... until every take is over.

The draws come in upstream's order: first code of a frame, its other codes, first code of the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F

from ...mizuoto_runtime.errors import EngineError
from ...mizuoto_runtime.lm.cache import GrowingCache
from ...mizuoto_runtime.lm.sampling import Sampler, Sampling
from .ending import BUDGET, EOS, KEPT_LOOP_FRAMES, LOOP, LOOP_FRAMES, is_looping, usual_frames
from .prompt import Prompt
from .talker import Talker

MIN_FRAMES = 2  # the end is not an option before them
_NO_CODES = 1024  # ids at the end of the vocabulary that are no codes; of them only eos is ever chosen


@dataclass(frozen=True, slots=True)
class Choices:
    """How codes are chosen, and when a take is over.

    Attributes:
        first: Sampling of each frame's first code.
        later: Sampling of its other codes.
        budgets: Most frames of each text.
        stops_loops: Whether a take that repeats itself is ended.
    """

    first: Sampling
    later: Sampling
    budgets: Sequence[int]
    stops_loops: bool


@dataclass(slots=True)
class Take:
    """What became of one text.

    Attributes:
        codes: [T, codebooks] int64 on the CPU.
        ending: EOS, BUDGET or LOOP.
    """

    codes: torch.Tensor
    ending: str


@dataclass(frozen=True, slots=True)
class Batch:
    """What the talker reads.

    Attributes:
        embeddings: [B, L, hidden_size], before the first frame.
        trailing: [B, R, hidden_size], added to the frames one by one.
        pad: [1, 1, hidden_size], added to all frames after them.
        num_padding: [B] positions in front that are none; None where no row has any.
    """

    embeddings: torch.Tensor
    trailing: torch.Tensor
    pad: torch.Tensor
    num_padding: torch.Tensor | None


@dataclass(slots=True)
class Row:
    """One text of the batch while it is being said."""

    budget: int
    firsts: list[int] = field(default_factory=list)
    ending: str = ""


def generate(
    talker: Talker,
    prompts: Sequence[Prompt],
    choices: Choices,
    generator: torch.Generator | None,
    device: torch.device,
    check: Callable[[int], None],
) -> list[Take]:
    """One take of each prompt, all of them said at once with joint draws.

    Args:
        talker: Ready on `device`.
        prompts: One or more.
        choices: One budget a prompt.
        generator: On `device`; not needed where nothing is sampled.
        device: Where the work happens.
        check: Called once a frame with the number of frames made so far; may raise to cancel.

    Raises:
        EngineError: The model's numbers overflowed.

    Source: qwen-tts 0.1.1, Qwen3TTSForConditionalGeneration.generate with transformers 4.57.3's `generate`.
    """
    batch = batched([talker.embed(prompt, device) for prompt in prompts])
    cache, predicted = GrowingCache(batch.num_padding), GrowingCache(reserve=talker.config.num_codebooks)
    sampler, later = samplers(talker, choices, device)
    eos = talker.config.tokens.eos
    rows = [Row(budget) for budget in choices.budgets]
    frames: list[torch.Tensor] = []
    hidden = talker.decoder(batch.embeddings, cache)
    while True:
        first = sampler.pick(talker.frame_logits(hidden), generator)
        if all(note(rows, first.tolist(), eos, choices.stops_loops)):
            refuse_overflow(rows, hidden)
            return takes(rows, frames)
        check(len(frames))  # rows that are over go on with the others, which do not notice
        predicted.reset()
        codes, summed = talker.frame(hidden, first, later, generator, predicted)
        step = len(frames)
        frames.append(codes)
        summed = summed + (batch.trailing[:, step : step + 1] if step < batch.trailing.shape[1] else batch.pad)
        hidden = talker.decoder(summed, cache)


def note(rows: list[Row], firsts: Sequence[int], eos: int, stops_loops: bool) -> list[bool]:
    """Write down each row's next first code unless the row is over; whether it is over now."""
    for row, first in zip(rows, firsts, strict=True):
        if row.ending:
            continue
        if first == eos:
            row.ending = EOS
        elif len(row.firsts) == row.budget:
            row.ending = BUDGET
        elif stops_loops and is_looping([*row.firsts[-LOOP_FRAMES:], first]):
            row.ending = LOOP
            del row.firsts[KEPT_LOOP_FRAMES - (LOOP_FRAMES - 1) :]  # `first`, the last of them, is not in it
        else:
            row.firsts.append(first)
    return [bool(row.ending) for row in rows]


def refuse_overflow(rows: Sequence[Row], hidden: torch.Tensor) -> None:
    """Make sure that what the rows said was computed; waits for the device.

    Once a state is not finite it stays in the cache, so the last ones tell of all before. A row that the model has
    ended is not looked at: what keeps it going then is the other rows.

    Args:
        rows: So far.
        hidden: [B, T, hidden_size], the last states.

    Raises:
        EngineError: A state is infinite or not a number.
    """
    is_finite = hidden[:, -1].isfinite().all(-1).tolist()
    if not all(is_good or row.ending == EOS for row, is_good in zip(rows, is_finite, strict=True)):
        raise EngineError(
            f"The model's numbers overflowed in {str(hidden.dtype).removeprefix('torch.')}, so there is no speech; "
            "load it with dtype bf16 or fp32."
        )


def usual_length(prompts: Sequence[Prompt], choices: Choices) -> int:
    """Frames that the longest take of a batch hardly exceeds."""
    return max(
        usual_frames(prompt.text.shape[1], budget) for prompt, budget in zip(prompts, choices.budgets, strict=True)
    )


def takes(rows: list[Row], frames: Sequence[torch.Tensor]) -> list[Take]:
    """What the rows are when all are over; frames are [B, codebooks] each."""
    return [
        Take(torch.stack([frame[index] for frame in frames[: len(row.firsts)]]).cpu(), row.ending)
        for index, row in enumerate(rows)
    ]


def samplers(talker: Talker, choices: Choices, device: torch.device) -> tuple[Sampler, Sampler]:
    """Of the first codes and of the later ones, for one generation."""
    config, rows = talker.config, len(choices.budgets)
    vocab_size, eos = config.vocab_size, config.tokens.eos
    suppressed = [index for index in range(vocab_size - _NO_CODES, vocab_size) if index != eos]
    first = Sampler(
        choices.first, rows, vocab_size, device, suppressed=suppressed, eos_ids=[eos], min_new_tokens=MIN_FRAMES
    )
    return first, Sampler(choices.later, rows, config.codebook_size, device)


def batched(embedded: Sequence[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]) -> Batch:
    """Prompts padded to one length in front, trailing texts to one length behind."""
    pad = embedded[0][2]
    lengths = [prompt.shape[1] for prompt, _, _ in embedded]
    longest_text = max(trailing.shape[1] for _, trailing, _ in embedded)
    prompts = [F.pad(prompt, (0, 0, max(lengths) - prompt.shape[1], 0)) for prompt, _, _ in embedded]
    texts = [
        torch.cat((trailing, pad.expand(-1, longest_text - trailing.shape[1], -1)), dim=1)
        for _, trailing, _ in embedded
    ]
    num_padding = None
    if min(lengths) < max(lengths):
        num_padding = torch.tensor([max(lengths) - length for length in lengths], device=pad.device)
    return Batch(torch.cat(prompts), torch.cat(texts), pad, num_padding)
