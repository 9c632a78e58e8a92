"""What the talker is asked: text tokens and patches of a recording, one position each. All on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from .config import CheckpointConfig

AUDIO_START, REFERENCE_START, REFERENCE_END = 101, 103, 104  # ids in the text vocabulary
_FIRST_CONTEXT, _SECOND_CONTEXT = 2, 3


@dataclass(frozen=True, slots=True)
class Voice:
    """What of a recording goes into a prompt.

    Attributes:
        reference: [T, patch_size, feat_dim] whose sound is taken, or None.
        continued: [T, patch_size, feat_dim] that the speech goes on from, or None.
        transcript: What is said in `continued`.
    """

    reference: torch.Tensor | None = None
    continued: torch.Tensor | None = None
    transcript: str = ""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One text to say.

    Attributes:
        text_ids: [L] int64, 0 in the places of patches.
        features: [L, patch_size, feat_dim] float32, zeros in the places of text.
        is_audio: [L] whether a place is a patch's.
        has_audio: Whether any is.
        num_tokens: Length of the text to say.
        context: [n, patch_size, feat_dim], what the decoder hears before the first patch that is said.
    """

    text_ids: torch.Tensor
    features: torch.Tensor
    is_audio: torch.Tensor
    has_audio: bool
    num_tokens: int
    context: torch.Tensor

    @property
    def num_positions(self) -> int:
        """Positions that the talker reads before the first patch."""
        return len(self.text_ids)


def build_prompt(spoken: Sequence[int], num_tokens: int, voice: Voice, config: CheckpointConfig) -> Prompt:
    """The prompt for a text.

    Args:
        spoken: Ids of the text, behind those of the recording that it continues.
        num_tokens: Length of the text alone.
        voice: Whose voice.
        config: Of the checkpoint.

    Source: VoxCPMModel and VoxCPM2Model._generate_with_prompt_cache, voxcpm 2.0.3.
    """
    reference, continued = voice.reference, voice.continued
    pieces: list[torch.Tensor] = []
    if reference is not None:
        pieces += [torch.tensor([REFERENCE_START]), reference, torch.tensor([REFERENCE_END])]
    pieces.append(torch.tensor([*spoken, AUDIO_START]))
    if continued is not None:
        pieces.append(continued)
    patches = [piece for piece in pieces if piece.dim() > 1]
    size = _SECOND_CONTEXT if config.is_second else _FIRST_CONTEXT
    frame = torch.zeros(1, config.patch_size, config.feat_dim)
    features = torch.cat([piece if piece.dim() > 1 else frame.expand(len(piece), -1, -1) for piece in pieces])
    return Prompt(
        torch.cat([piece.new_zeros(len(piece), dtype=torch.int64) if piece.dim() > 1 else piece for piece in pieces]),
        features,
        torch.cat([torch.full((len(piece),), piece.dim() > 1) for piece in pieces]),
        bool(patches),
        num_tokens,
        # The decoder goes on from the recording only if the speech does.
        features[:0] if continued is None else torch.cat(patches)[-size:],
    )
