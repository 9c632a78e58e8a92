"""The talker: a transformer that tells, at any time between noise and speech, which way a mel spectrogram moves.

What it hears is the reference's mel with nothing where speech is wanted, and the words of both.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from ...mizuoto_runtime import ops
from ...mizuoto_runtime.attention import Site
from ...mizuoto_runtime.lm.rope import Angles
from ...mizuoto_runtime.nn.convnext import ConvNeXtV2Block
from ...mizuoto_runtime.nn.dit import ConvPositions, DitBlock, Modulation, TimeEmbedding, modulated
from ...mizuoto_runtime.nn.flow import guided
from ...mizuoto_runtime.nn.rotary import pair_angles
from ...mizuoto_runtime.nn.vocos_mel import NUM_MELS
from .config import TransformerConfig

MAX_FRAMES = 8192  # the upstream's table of text positions ends there
_FILLER = 0  # row of the symbol table; symbol n is row n + 1
_POSITION_BASE = 10000.0


@dataclass(frozen=True, slots=True)
class Release:
    """What the weights do not tell about the network.

    Attributes:
        masks_fillers: Whether the text encoder hears nothing where there is no text (v1).
        num_rotated: So many heads know where a frame is (v0: one); None is all.
    """

    masks_fillers: bool
    num_rotated: int | None


class TextEncoder(nn.Module):
    """Symbols, stretched to the length of the speech with fillers, to one vector a frame.

    Source: TextEmbedding, f5-tts 1.1.22.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.embedding = ops.Embedding(config.num_symbols, config.text_size)
        self.blocks = nn.ModuleList(
            ConvNeXtV2Block(config.text_size, config.text_intermediate_size) for _ in range(config.num_text_layers)
        )

    def forward(self, ids: torch.Tensor, num_frames: int, masks_fillers: bool, is_blank: bool) -> torch.Tensor:
        """[1, N] int64 -> [1, num_frames, text_size].

        Args:
            ids: Symbols; those beyond the last frame are not read.
            num_frames: Length of the speech.
            masks_fillers: See `Release`.
            is_blank: Read fillers only, yet mask where the text has none.
        """
        rows = (ids + 1)[:, :num_frames]
        rows = F.pad(rows, (0, num_frames - rows.shape[1]), value=_FILLER)
        holes = (rows == _FILLER)[..., None] if masks_fillers else None
        hidden = self.embedding(torch.zeros_like(rows) if is_blank else rows)
        if not self.blocks:
            return hidden
        hidden = _masked(hidden + self._positions(num_frames).to(hidden), holes)
        for block in self.blocks:
            hidden = _masked(block(hidden), holes)
        return hidden

    def _positions(self, num_frames: int) -> torch.Tensor:
        """[num_frames, text_size], cosines first; float32 whatever the weights are."""
        size, device = self.embedding.embedding_dim, self.embedding.weight.device
        frequencies = 1.0 / (_POSITION_BASE ** (torch.arange(0, size, 2, device=device).float() / size))
        angles = torch.outer(torch.arange(num_frames, device=device), frequencies)
        return torch.cat((angles.cos(), angles.sin()), dim=-1)


@dataclass(frozen=True, slots=True)
class Conditions:
    """What does not change from step to step.

    Attributes:
        reference: [1, T, num_mels]; zeros where speech is wanted.
        texts: [1, T, text_size] of the text, and of none if there is guidance.
        angles: Of all positions.
        modulations: [steps, parts, hidden_size] of each block.
        final: [steps, 2, hidden_size], scale before shift.
        num_rotated: See `Release`.
        guidance: Its strength; without it there is one text only.
    """

    reference: torch.Tensor
    texts: tuple[torch.Tensor, ...]
    angles: Angles
    modulations: tuple[torch.Tensor, ...]
    final: torch.Tensor
    num_rotated: int | None
    guidance: float


class Talker(nn.Module):
    """Noise and conditions to a velocity.

    Source: DiT, f5-tts 1.1.22.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        size = config.hidden_size
        self.text = TextEncoder(config)
        self.time = TimeEmbedding(size, config.time_size)
        self.enter = ops.Linear(2 * NUM_MELS + config.text_size, size)
        self.positions = ConvPositions(size)
        self.frequencies = nn.Parameter(torch.empty(config.head_dim // 2), requires_grad=False)
        site = Site("f5_tts:talker", config.num_heads, config.head_dim)
        self.blocks = nn.ModuleList(
            DitBlock(size, config.intermediate_size, site, config.has_head_norm) for _ in range(config.num_layers)
        )
        self.modulations = nn.ModuleList(Modulation(size, DitBlock.NUM_PARTS) for _ in range(config.num_layers))
        self.skip = ops.Linear(2 * size, size, bias=False) if config.has_skip else None
        self.final_modulation = Modulation(size, 2)
        self.out = ops.Linear(size, NUM_MELS)

    @property
    def dtype(self) -> torch.dtype:
        """Of the weights; the frequencies are float32 in any case."""
        return self.out.weight.dtype

    def memory_units(self) -> list[str]:
        """Names of the submodules whose weights may move one by one."""
        numbers = range(self.config.num_layers)
        return [
            *(f"text.blocks.{number}" for number in range(self.config.num_text_layers)),
            *("time", "enter", "positions", "final_modulation"),
            *(f"modulations.{number}" for number in numbers),
            *(f"blocks.{number}" for number in numbers),
        ]

    def conditions(
        self, ids: torch.Tensor, reference: torch.Tensor, times: torch.Tensor, guidance: float, release: Release
    ) -> Conditions:
        """What all steps of one piece of speech share.

        Args:
            ids: [1, N] symbols of the reference's words and the text.
            reference: [1, T, num_mels] as in `Conditions`, in the dtype of the weights.
            times: [steps] float32, when each step starts.
            guidance: 0 for none.
            release: Of the weights.
        """
        num_frames = reference.shape[1]
        kinds = (False, True) if guidance else (False,)
        texts = tuple(self.text(ids, num_frames, release.masks_fillers, is_blank) for is_blank in kinds)
        embedded = self.time(times)
        rows = len(kinds)
        return Conditions(
            reference,
            texts,
            pair_angles(self.frequencies, num_frames, self.dtype),
            tuple(modulation(embedded, rows) for modulation in self.modulations),
            self.final_modulation(embedded, rows),
            release.num_rotated,
            guidance,
        )

    def forward(self, state: torch.Tensor, step: int, given: Conditions, is_split: bool = False) -> torch.Tensor:
        """[1, T, num_mels] -> the velocity there.

        Args:
            state: Between noise and speech, in the dtype of the weights.
            step: Number of the step.
            given: From `conditions`.
            is_split: Compute with and without the text one after the other: the same bits in half the memory.
        """
        references = (given.reference, torch.zeros_like(given.reference))
        rows = [self._entered(state, reference, text) for reference, text in zip(references, given.texts, strict=False)]
        batches = rows if is_split else [torch.cat(rows)]
        velocity = torch.cat([self._velocity(hidden, step, given) for hidden in batches])
        if not given.guidance:
            return velocity
        wanted, blank = velocity.chunk(2)
        return guided(wanted, blank, given.guidance)

    def _entered(self, state: torch.Tensor, reference: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
        hidden = self.enter(torch.cat((state, reference, text), dim=-1))
        return hidden + self.positions(hidden)

    def _velocity(self, hidden: torch.Tensor, step: int, given: Conditions) -> torch.Tensor:
        entered = hidden
        for block, modulation in zip(self.blocks, given.modulations, strict=True):
            hidden = block(hidden, modulation[step], given.angles, given.num_rotated)
        if self.skip is not None:
            hidden = self.skip(torch.cat((hidden, entered), dim=-1))
        scale, shift = given.final[step]
        return self.out(modulated(hidden, shift, scale))


def _masked(hidden: torch.Tensor, holes: torch.Tensor | None) -> torch.Tensor:
    return hidden if holes is None else hidden.masked_fill(holes, 0.0)
