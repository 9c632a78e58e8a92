"""A checkpoint's folder into modules: `config.json`, one file of weights, and the voices beside them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from ...mizuoto_runtime.errors import ModelFileError
from ...mizuoto_runtime.loading.checkpoint import read_checkpoint
from ...mizuoto_runtime.loading.keys import load_into
from ...mizuoto_runtime.loading.weight_norm import fold_weight_norm
from . import keys
from .codec import CodecDecoder
from .config import CheckpointConfig
from .manifest import WEIGHTS
from .talker import Talker


@dataclass(frozen=True, slots=True)
class Components:
    """The modules of a checkpoint, their weights in place.

    Attributes:
        talker: Phonemes to prosody.
        decoder: Prosody to sound.
    """

    talker: Talker
    decoder: CodecDecoder


def read_components(folder: Path, config: CheckpointConfig) -> Components:
    """The modules of the checkpoint in `folder`, in float32 on the CPU.

    Raises:
        ModelFileError: A file is missing, damaged or of another model.
    """
    path = find_weights(folder)
    with torch.device("meta"):
        components = Components(Talker(config), CodecDecoder(config))
    modules: dict[str, nn.Module] = {keys.TALKER: components.talker, keys.DECODER: components.decoder}
    tensors: dict[str, dict[str, torch.Tensor]] = {name: {} for name in modules}
    for key, tensor in read_weights(path).items():
        place = keys.rename(key, len(config.vocoder.block_kernels))
        if place is None:
            raise ModelFileError(
                f'"{path.name}" is no Kokoro checkpoint: it has a tensor "{key}". Use the file as it was published.'
            )
        tensors[place[0]][place[1]] = tensor
    for name, module in modules.items():
        load_into(module, tensors.pop(name), path.name)
    return components


def find_weights(folder: Path) -> Path:
    """The one file of weights in `folder`.

    Raises:
        ModelFileError: There is none, or several.
    """
    found = sorted(path for pattern in WEIGHTS for path in folder.glob(pattern))
    if len(found) != 1:
        what = "no file" if not found else f"{len(found)} files"
        raise ModelFileError(
            f'"{folder.name}" holds {what} of weights ({", ".join(WEIGHTS)}); keep exactly one of them beside its '
            "config.json."
        )
    return found[0]


def read_weights(path: Path) -> dict[str, torch.Tensor]:
    """Plain key -> float32 weight, weight norm folded; what nothing is computed with is left out.

    Raises:
        ModelFileError: The file is damaged, or a norm of it has a trained affine.
    """
    found: dict[str, torch.Tensor] = {}
    for stored, tensor in read_checkpoint(path, torch.float32):
        key = keys.plain(stored)
        if keys.is_identity(key):
            if not bool((tensor == float(key.endswith("weight"))).all()):
                raise ModelFileError(
                    f'"{path.name}" has a trained "{key}", which this decoder does not compute; use Kokoro-82M as it '
                    "was published."
                )
        elif not keys.is_unused(key):
            found[key] = tensor
    return fold_weight_norm(found)
