"""The same loop for speed: caches of fixed size, no waiting for the device, a frame captured as one graph.

It rounds differently from `generation.generate`, so it may choose other codes. The host looks at the codes once in
`FRAMES_PER_LOOK` frames; what was made after the end of the take is thrown away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from ...mizuoto_runtime.graphs import CapturedStep, can_capture
from ...mizuoto_runtime.lm.cache import StaticCache
from ...mizuoto_runtime.lm.qwen import QwenConfig
from .generation import MIN_FRAMES, Batch, Choices, Row, Take, batched, note, samplers, takes
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
    check: Callable[[], None],
    may_capture: bool,
) -> list[Take]:
    """As `generate`; `may_capture` says that the talker's weights stay where they are."""
    batch = batched([talker.embed(prompt, device) for prompt in prompts])
    rows = [Row(budget) for budget in choices.budgets]
    loop = FrameLoop(talker, batch, choices, generator)
    step: Callable[[], None] = loop.step
    seen, most = 0, max(choices.budgets) + 1  # the frame after the last may say that the take has ended
    while True:
        made = min(most, seen + FRAMES_PER_LOOK)
        for frame in range(seen, made):
            if frame == _EAGER_FRAMES and may_capture and can_capture(device):
                step = CapturedStep(loop.step, [generator])
            check()
            step()
        for firsts in loop.codes[seen:made, :, 0].tolist():
            if all(note(rows, firsts, talker.config.tokens.eos, choices.stops_loops)):
                return takes(rows, loop.codes.unbind())
        seen = made


class FrameLoop:
    """One generation's tensors; `step` makes the next frame of every row out of them, in place.

    Attributes:
        codes: [frames, B, codebooks] int64; filled frame by frame.
    """

    def __init__(self, talker: Talker, batch: Batch, choices: Choices, generator: torch.Generator) -> None:
        rows, length = batch.embeddings.shape[:2]
        device, dtype = batch.embeddings.device, batch.embeddings.dtype
        frames = max(choices.budgets) + 1
        self._talker = talker
        self._generator = generator
        self._first, self._later = samplers(talker, choices, device)
        config = talker.config
        self._cache = _static(config.decoder, rows, length + frames, device, dtype, batch.num_padding)
        self._predicted = _static(config.predictor, rows, config.num_codebooks, device, dtype)
        self._trailing = batch.trailing
        self._pad = batch.pad
        self._frame = torch.zeros(1, dtype=torch.int64, device=device)
        self.codes = torch.zeros(frames, rows, config.num_codebooks, dtype=torch.int64, device=device)
        self._hidden = talker.decoder(batch.embeddings, self._cache)[:, -1:].clone()

    def step(self) -> None:
        """The next frame; draws from the generator."""
        first = self._first.pick(self._talker.frame_logits(self._hidden), self._generator)
        self._predicted.reset()
        codes, summed = self._talker.frame(self._hidden, first, self._later, self._generator, self._predicted)
        self.codes.index_copy_(0, self._frame, codes[None])
        last = self._trailing.shape[1] - 1
        text = self._trailing.index_select(1, self._frame.clamp(max=last))
        summed = summed + torch.where(self._frame <= last, text, self._pad)
        self._hidden.copy_(self._talker.decoder(summed, self._cache))
        self._frame += 1


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
