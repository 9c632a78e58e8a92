"""A checkpoint's folder into modules."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from ...mizuoto_runtime.loading.checkpoint import read_checkpoint_folder
from ...mizuoto_runtime.loading.keys import load_into, replace_prefixes
from .audio_encoder import AudioEncoder
from .config import CheckpointConfig
from .decoder import TextDecoder
from .keys import AUDIO, DECODER, HEADS, PREFIXES


@dataclass(frozen=True, slots=True)
class Components:
    """The modules of a checkpoint, their weights in place."""

    audio_encoder: AudioEncoder
    decoder: TextDecoder


def read_components(folder: Path, config: CheckpointConfig, dtype: torch.dtype) -> Components:
    """The modules of the checkpoint in `folder`, in `dtype` on the CPU.

    Raises:
        ModelFileError: A file is missing, damaged or of another model.
    """
    with torch.device("meta"):
        encoder, decoder = AudioEncoder(config.audio), TextDecoder(config)
    stored = read_checkpoint_folder(folder, dtype, lambda key: not (config.is_tied and key in HEADS))
    tensors = replace_prefixes(stored, PREFIXES)
    audio = {name.removeprefix(AUDIO): tensor for name, tensor in tensors.items() if name.startswith(AUDIO)}
    # Whatever has no place lands here, too, where it is refused.
    others = {name.removeprefix(DECODER): tensor for name, tensor in tensors.items() if not name.startswith(AUDIO)}
    load_into(encoder, audio, folder.name)
    load_into(decoder, others, folder.name)
    return Components(encoder, decoder)
