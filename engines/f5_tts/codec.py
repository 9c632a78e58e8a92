"""The codec decoder: Vocos over a whole segment, or over windows of it where memory is short."""

from __future__ import annotations

import torch

from ...mizuoto_runtime.errors import InvalidRequest
from ...mizuoto_runtime.nn.vocos import Vocos
from ...mizuoto_runtime.nn.vocos_mel import NUM_MELS
from ..artifacts import Segment
from .talker import MAX_FRAMES
from .voice import LEVEL, MEL

SHORT_FRAMES = 256


def checked(segment: Segment) -> tuple[torch.Tensor, torch.Tensor]:
    """Mel spectrogram and level of a segment, which may come from anywhere.

    Raises:
        InvalidRequest: They are not what the talker gives.
    """
    mel, level = segment.tensors.get(MEL), segment.tensors.get(LEVEL)
    if mel is not None and level is not None:
        is_mel = mel.dtype == torch.float32 and mel.dim() == 2 and mel.shape[1] == NUM_MELS
        is_level = level.dtype == torch.float32 and level.dim() == 0
        if is_mel and is_level and 2 <= len(mel) <= MAX_FRAMES and mel.isfinite().all():
            return mel, level
    raise InvalidRequest("The codes are damaged, or of another kind of model; make them again with a Talker node.")


def decoded(codec: Vocos, mel: torch.Tensor) -> torch.Tensor:
    """[T, num_mels] float32 -> [1, samples] on the device of the weights' choice, moved to the CPU."""
    waveform: torch.Tensor = codec(mel.to(codec.window.device).T[None])
    return waveform.cpu()


def decoded_in_windows(codec: Vocos, mel: torch.Tensor, frames: int = SHORT_FRAMES) -> torch.Tensor:
    """The same but for the last bits, in the memory of `frames` frames and their neighbours.

    Every window sees all frames that its samples depend on.
    """
    hop_length, total = codec.config.hop_length, len(mel)
    pieces = []
    for start in range(0, total, frames):
        stop = min(total, start + frames)
        first, last = max(0, start - codec.reach), min(total, stop + codec.reach)
        piece = decoded(codec, mel[first:last])
        pieces.append(piece[:, (start - first) * hop_length : (stop - first) * hop_length])
    return torch.cat(pieces, dim=-1)
