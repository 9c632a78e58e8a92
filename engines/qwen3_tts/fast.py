"""The same loop for speed: caches of fixed size, no waiting for the device, a frame captured as one graph.

It rounds differently from `generation.generate`, so it may choose other codes. The host looks at the codes once in
`FRAMES_PER_LOOK` frames; what was made after the end of the take is thrown away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from ...mizuoto_runtime.attention.backends import brief
from ...mizuoto_runtime.attention.select import recorded, rounded_freely
from ...mizuoto_runtime.errors import is_oom
from ...mizuoto_runtime.graphs import CapturedStep, can_capture
from ...mizuoto_runtime.lm.cache import StaticCache
from ...mizuoto_runtime.lm.qwen import QwenConfig
from .generation import (
    MIN_FRAMES,
    Batch,
    Choices,
    Row,
    Take,
    batched,
    note,
    refuse_overflow,
    samplers,
    takes,
    usual_length,
)
from .prompt import Prompt
from .talker import Talker

FRAMES_PER_LOOK = 8
_EAGER_FRAMES = MIN_FRAMES + 1  # until the end is an option, and everything lazy is set up


def generate_fast(
    talker: Talker,
    prompts: Sequence[Prompt],
    choices: Choices,
    generator: torch.Generator,
    device: torch.device,
    check: Callable[[int], None],
    may_capture: bool,
    warn: Callable[[str, str], None],
) -> list[Take]:
    """As `generate`.

    Args:
        talker: See `generate`.
        prompts: See `generate`.
        choices: See `generate`.
        generator: See `generate`.
        device: See `generate`.
        check: See `generate`.
        may_capture: Whether the talker's weights stay where they are.
        warn: Told (code, text) if no graph could be made.

    Raises:
        EngineError: The model's numbers overflowed.
    """
    rows = [Row(budget) for budget in choices.budgets]
    seen, most = 0, most_frames(choices)
    with rounded_freely(talker):
        batch = batched([talker.embed(prompt, device) for prompt in prompts])
        loop = FrameLoop(talker, batch, choices, generator, usual_length(prompts, choices) + 1)
        steps = _Steps(loop, device, may_capture and can_capture(device), warn)
        while True:
            made = min(most, seen + FRAMES_PER_LOOK)
            if made > loop.room:
                steps.make_room(min(most, 2 * loop.room + FRAMES_PER_LOOK))
            for frame in range(seen, made):
                check(frame)
                steps.step(frame)
            is_over = any(
                all(note(rows, firsts, talker.config.tokens.eos, choices.stops_loops))
                for firsts in loop.codes[seen:made, :, 0].tolist()
            )
            refuse_overflow(rows, loop.hidden)
            if is_over:
                return takes(rows, loop.codes.unbind())
            seen = made


def most_frames(choices: Choices) -> int:
    """Frames of the longest take and one more, which may say that it has ended."""
    return max(choices.budgets) + 1


class FrameLoop:
    """One generation's tensors; `step` makes the next frame of every row out of them, in place.

    Args:
        talker: Makes the frames.
        batch: What it reads first.
        choices: How codes are chosen.
        generator: Source of the draws.
        room: Frames that there is room for until `grow` is called; all that the budgets allow when None.

    Attributes:
        room: Frames that there is room for.
        codes: [room, B, codebooks] int64; filled frame by frame.
        hidden: [B, 1, hidden_size], the last states.
    """

    def __init__(
        self,
        talker: Talker,
        batch: Batch,
        choices: Choices,
        generator: torch.Generator,
        room: int | None = None,
    ) -> None:
        rows, self._num_read = batch.embeddings.shape[:2]
        device, dtype = batch.embeddings.device, batch.embeddings.dtype
        self.room = room = most_frames(choices) if room is None else room
        self.talker = talker
        self.generator = generator
        self._first, self._later = samplers(talker, choices, device)
        config = talker.config
        self._cache = _static(config.decoder, rows, self._num_read + room, device, dtype, batch.num_padding)
        self._predicted = _static(config.predictor, rows, config.num_codebooks, device, dtype)
        self._trailing = batch.trailing
        self._pad = batch.pad
        self._frame = torch.zeros(1, dtype=torch.int64, device=device)
        self.codes = torch.zeros(room, rows, config.num_codebooks, dtype=torch.int64, device=device)
        self.hidden = talker.decoder(batch.embeddings, self._cache)[:, -1:].clone()

    def step(self) -> None:
        """The next frame; draws from the generator."""
        first = self._first.pick(self.talker.frame_logits(self.hidden), self.generator)
        self._predicted.reset()
        codes, summed = self.talker.frame(self.hidden, first, self._later, self.generator, self._predicted)
        self.codes.index_copy_(0, self._frame, codes[None])
        last = self._trailing.shape[1] - 1
        text = self._trailing.index_select(1, self._frame.clamp(max=last))
        summed = summed + torch.where(self._frame <= last, text, self._pad)
        self.hidden.copy_(self.talker.decoder(summed, self._cache))
        self._frame += 1

    def grow(self, room: int) -> None:
        """Make room for `room` frames, which moves the tensors: what was captured of `step` holds no longer."""
        old, codes = self._cache, self.codes
        rows, length = len(self.hidden), self._num_read + room
        config = self.talker.config.decoder
        self._cache = _static(config, rows, length, codes.device, old.keys.dtype, old.num_padding)
        self._cache.keys[:, :, :, : old.max_length] = old.keys
        self._cache.values[:, :, :, : old.max_length] = old.values
        self._cache.length.copy_(old.length)
        self.codes = codes.new_zeros(room, *codes.shape[1:])
        self.codes[: self.room] = codes
        self.room = room


class _Steps:
    """The steps of one loop, replayed from a graph where one can be had."""

    def __init__(
        self, loop: FrameLoop, device: torch.device, may_capture: bool, warn: Callable[[str, str], None]
    ) -> None:
        self._loop = loop
        self._device = device
        self._may_capture = may_capture
        self._warn = warn
        self._replay: Callable[[], None] | None = None

    def make_room(self, room: int) -> None:
        """Let the loop grow."""
        self._replay = None  # before: its memory is needed
        self._loop.grow(room)

    def step(self, frame: int) -> None:
        """Make frame number `frame`."""
        if self._may_capture and self._replay is None and frame >= _EAGER_FRAMES:
            self._replay = self._captured()
        (self._replay or self._loop.step)()

    def _captured(self) -> Callable[[], None] | None:
        loop = self._loop
        try:
            with recorded(loop.talker) as count:
                captured = CapturedStep(loop.step, [loop.generator], self._device)
        except Exception as error:
            if is_oom(error):
                raise
            self._may_capture = False
            self._warn("no_graph", f"No CUDA graph could be made, so this took longer ({brief(error)}).")
            return None

        def replay() -> None:
            captured()
            count()

        return replay


def _static(
    config: QwenConfig,
    rows: int,
    length: int,
    device: torch.device,
    dtype: torch.dtype,
    num_padding: torch.Tensor | None = None,
) -> StaticCache:
    shape = (config.num_layers, rows, config.num_kv_heads, length, config.head_dim)
    return StaticCache(shape, device, dtype, num_padding)
