"""A model's folder into modules, from both layouts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch

from ...mizuoto_runtime.loading.checkpoint import read_checkpoint_folder
from ...mizuoto_runtime.loading.keys import load_into
from . import ctranslate2
from .config import WhisperConfig, read_ctranslate2, read_hugging_face
from .decoder import Decoder
from .encoder import AudioEncoder
from .keys import COMPONENTS, CTRANSLATE2, DECODER, ENCODER, HUGGING_FACE, UNUSED, Table, packed, rename
from .manifest import CTRANSLATE2_MODEL, is_ctranslate2


@dataclass(frozen=True, slots=True)
class Components:
    """A checkpoint: its shape, and its modules with their weights in place."""

    config: WhisperConfig
    encoder: AudioEncoder
    decoder: Decoder


def read_components(folder: Path, dtype: torch.dtype) -> Components:
    """The checkpoint in `folder`, in `dtype` on the CPU.

    Raises:
        ModelFileError: A file is missing, damaged or of another model.
    """
    if is_ctranslate2(folder):
        file = ctranslate2.read_file(folder / CTRANSLATE2_MODEL)
        config = read_ctranslate2(folder, file.shapes, file.heads)
        return _filled(config, ctranslate2.read_tensors(file, dtype, _is_used), CTRANSLATE2, folder)
    config = read_hugging_face(folder)
    return _filled(config, read_checkpoint_folder(folder, dtype, _is_used), HUGGING_FACE, folder)


def _is_used(key: str) -> bool:
    return key not in UNUSED


def _filled(
    config: WhisperConfig, tensors: Iterable[tuple[str, torch.Tensor]], table: Table, folder: Path
) -> Components:
    with torch.device("meta"):
        encoder, decoder = AudioEncoder(config), Decoder(config)
    components: dict[str, dict[str, torch.Tensor]] = {name: {} for name in COMPONENTS}
    for key, tensor in tensors:
        component, name = rename(key, table)
        components[component][name] = tensor
    load_into(encoder, packed(components.pop(ENCODER)), folder.name)
    load_into(decoder, packed(components.pop(DECODER)), folder.name)
    return Components(config, encoder, decoder)
