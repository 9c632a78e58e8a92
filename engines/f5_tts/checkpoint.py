"""A checkpoint's folder into modules: the transformer's file, and Vocos inside the folder or shared beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from ...mizuoto_runtime.errors import ModelFileError
from ...mizuoto_runtime.loading.checkpoint import read_checkpoint
from ...mizuoto_runtime.loading.keys import load_into, strip_prefix
from ...mizuoto_runtime.nn.vocos import Vocos
from .config import TransformerConfig, read_vocos_config
from .files import VOCABULARY, VOCODER, WeightFile, find_weights, version_told_by
from .keys import CODEC, TALKER, UNUSED, Table, rename
from .symbols import Vocabulary, check_vocabulary
from .talker import Talker

_CODEC_FILES = ("pytorch_model.bin", "model.safetensors")
_ROTARY_BASE = 10000.0


@dataclass(frozen=True, slots=True)
class Components:
    """What is in a folder, the weights of modules in place.

    Attributes:
        talker: Text and a reference to a mel spectrogram.
        codec: A mel spectrogram to sound; always float32, since its phases need it.
        vocabulary: Of the talker.
        version: Which release it is of, as its name tells; None if that says nothing.
    """

    talker: Talker
    codec: Vocos
    vocabulary: Vocabulary
    version: str | None


def read_components(folder: Path, dtype: torch.dtype) -> Components:
    """What is in `folder`; the talker in `dtype`, everything on the CPU.

    Raises:
        ModelFileError: A file is missing, damaged or of another model.
    """
    weights = find_weights(folder)
    if weights is None:
        raise ModelFileError(
            f'"{folder.name}" holds no F5-TTS weights (model_*.safetensors or .pt); '
            "use the folder as its publisher offers it."
        )
    vocabulary = Vocabulary(folder / VOCABULARY)
    codec = _codec(find_vocoder(folder))
    talker = _talker(weights, dtype)
    check_vocabulary(vocabulary, talker.config.num_symbols, folder)
    return Components(talker, codec, vocabulary, version_told_by(folder.name, weights.path.stem))


def find_vocoder(folder: Path) -> Path:
    """The vocoder's folder: inside the model's, or shared by several models beside them.

    Raises:
        ModelFileError: There is none.
    """
    places = [folder / VOCODER, folder.parent / VOCODER]
    found = next((place for place in places if (place / "config.yaml").is_file()), None)
    if found is None:
        raise ModelFileError(
            f'"{folder.name}" has no vocoder: neither "{VOCODER}" in it nor "{VOCODER}" beside it holds a config.yaml. '
            "Copy the folder charactr/vocos-mel-24khz from Hugging Face to one of these places."
        )
    return found


def _talker(weights: WeightFile, dtype: torch.dtype) -> Talker:
    source = weights.path.name
    found = read_checkpoint(weights.path, dtype, lambda key: key.startswith(weights.prefix))
    tensors = _renamed(strip_prefix(found, weights.prefix), TALKER)
    config = TransformerConfig.of(tensors, source)
    if dtype != torch.float32:  # of which positions would lose their lower bits
        exponents = torch.arange(0, config.head_dim, 2, device="cpu").float() / config.head_dim
        tensors["frequencies"] = 1.0 / (_ROTARY_BASE**exponents)
    with torch.device("meta"):
        talker = Talker(config)
    load_into(talker, tensors, source)
    return talker


def _codec(folder: Path) -> Vocos:
    config = read_vocos_config(folder / "config.yaml")
    path = next((folder / name for name in _CODEC_FILES if (folder / name).is_file()), folder / _CODEC_FILES[0])
    found = read_checkpoint(path, torch.float32, lambda key: not key.startswith(UNUSED))
    with torch.device("meta"):
        codec = Vocos(config)
    load_into(codec, _renamed(dict(found), CODEC), folder.name)
    return codec


def _renamed(tensors: Mapping[str, torch.Tensor], table: Table) -> dict[str, torch.Tensor]:
    return {rename(key, table): tensor for key, tensor in tensors.items()}
