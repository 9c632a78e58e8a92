"""A checkpoint's folder into modules: the model's file, and the codec's beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from ...mizuoto_runtime import ops
from ...mizuoto_runtime.errors import ModelFileError
from ...mizuoto_runtime.loading.checkpoint import read_checkpoint
from ...mizuoto_runtime.loading.keys import load_into
from ...mizuoto_runtime.loading.rows import stored_rows
from ...mizuoto_runtime.loading.weight_norm import fold_weight_norm
from ...mizuoto_runtime.memory.units import pin_to_cpu
from ...mizuoto_runtime.nn.audio_vae import AudioVaeDecoder, AudioVaeEncoder
from .config import CheckpointConfig
from .keys import CODEC, TEXT_EMBEDDING, VOICE, codec_place, is_codec, talker_name
from .talker import Talker

_MODEL_FILES = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin")
_CODEC_FILES = ("audiovae.safetensors", "audiovae.pth")


@dataclass(frozen=True, slots=True)
class Components:
    """The modules of a checkpoint, their weights in place.

    Attributes:
        talker: Text to patches.
        codec: Patches to sound, in float32.
        voice: Sound to patches, in float32.
    """

    talker: Talker
    codec: AudioVaeDecoder
    voice: AudioVaeEncoder


def read_components(folder: Path, config: CheckpointConfig, dtype: torch.dtype) -> Components:
    """The modules of the checkpoint in `folder` on the CPU, the talker in `dtype`.

    Raises:
        ModelFileError: A file is missing, damaged or of another model.
    """
    model, codec = _find(folder, _MODEL_FILES), _find(folder, _CODEC_FILES)
    shape = (config.vocab_size, config.base.hidden_size)
    is_stored = model.suffix != ".bin"
    with torch.device("meta"):
        # Of 0.3 GB in the second version, a prompt needs a few rows.
        text = stored_rows(folder, TEXT_EMBEDDING, shape) if is_stored else pin_to_cpu(ops.Embedding(*shape))
        found = Components(Talker(config, text), AudioVaeDecoder(config.vae), AudioVaeEncoder(config.vae))
    load_into(found.talker, _talker_tensors(model, dtype, is_stored), folder.name)
    halves = _codec_tensors(codec)
    modules: dict[str, nn.Module] = {CODEC: found.codec, VOICE: found.voice}
    for name, module in modules.items():
        load_into(module, fold_weight_norm(halves.pop(name)), codec.name)
    return found


def _talker_tensors(path: Path, dtype: torch.dtype, is_stored: bool) -> dict[str, torch.Tensor]:
    def is_read(key: str) -> bool:
        return not (is_codec(key) or (is_stored and key == TEXT_EMBEDDING))

    source = path.parent if path.suffix == ".json" else path
    return {talker_name(key): tensor for key, tensor in read_checkpoint(source, dtype, is_read)}


def _codec_tensors(path: Path) -> dict[str, dict[str, torch.Tensor]]:
    """Component -> name there -> tensor; folded in float32, as the publisher's own code computes them."""
    halves: dict[str, dict[str, torch.Tensor]] = {CODEC: {}, VOICE: {}}
    for key, tensor in read_checkpoint(path, torch.float32, lambda key: codec_place(key) is not None):
        place = codec_place(key)
        if place is not None:
            halves[place[0]][place[1]] = tensor
    return halves


def _find(folder: Path, names: tuple[str, ...]) -> Path:
    """The first of the files that is there.

    Raises:
        ModelFileError: None is.
    """
    found = next((folder / name for name in names if (folder / name).is_file()), None)
    if found is None:
        shown = " nor ".join(f'"{name}"' for name in names)
        raise ModelFileError(f'"{folder.name}" has neither {shown}; copy the model\'s folder there again.')
    return found
