"""A checkpoint's folder into modules: the model's files, and those of the codec inside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from ...mizuoto_runtime.errors import ModelFileError
from ...mizuoto_runtime.loading.checkpoint import read_checkpoint_folder
from ...mizuoto_runtime.loading.keys import load_into
from ...mizuoto_runtime.loading.rows import stored_rows
from ...mizuoto_runtime.loading.weight_norm import fold_weight_norm
from .codec import CodecDecoder
from .config import CODEC_FOLDER, CodecConfig, TalkerConfig
from .keys import CODEC, NOWHERE, TALKER, TEXT_EMBEDDING, VOICE, rename_codec, rename_model
from .manifest import MODEL_TYPE
from .talker import Talker
from .voice import VoiceEncoder


@dataclass(frozen=True, slots=True)
class Components:
    """The modules of a checkpoint, their weights in place.

    Attributes:
        talker: Text and codes to codes.
        codec: Codes to sound.
        voice: Sound to codes.
    """

    talker: Talker
    codec: CodecDecoder
    voice: VoiceEncoder


def read_components(folder: Path, config: TalkerConfig, dtype: torch.dtype) -> Components:
    """The modules of the checkpoint in `folder` on the CPU: the talker in `dtype`, the codec in float32 as published.

    Raises:
        ModelFileError: A file is missing, damaged or of another model.
    """
    source = folder / CODEC_FOLDER
    if not (source / "config.json").is_file():
        raise ModelFileError(
            f'"{folder.name}" has no folder "{CODEC_FOLDER}" with a codec; copy the whole model again.'
        )
    shape = CodecConfig.read(source)
    if shape.num_codebooks != config.num_codebooks or shape.codebook_size > config.mask_id:
        raise ModelFileError(
            f'The codec in "{folder.name}" has {shape.num_codebooks} codebooks of {shape.codebook_size} codes and the '
            f"model {config.num_codebooks} of {config.mask_id}: they belong to different downloads; copy both again."
        )
    # A quarter of the model, of which a prompt needs a few rows.
    text = stored_rows(folder, TEXT_EMBEDDING, (config.text_vocab_size, config.decoder.hidden_size))
    with torch.device("meta"):
        talker, codec = Talker(config, text), CodecDecoder(shape)
        voice = VoiceEncoder(shape, f"{MODEL_TYPE}:voice")
    modules: dict[str, nn.Module] = {TALKER: talker, CODEC: codec, VOICE: voice}
    tensors: dict[str, dict[str, torch.Tensor]] = {name: {} for name in modules}
    for key, tensor in read_checkpoint_folder(folder, dtype, lambda key: rename_model(key)[0] != NOWHERE):
        component, name = rename_model(key)
        tensors[component][name] = tensor
    for key, tensor in read_checkpoint_folder(source, torch.float32, lambda key: bool(rename_codec(key))):
        for component, name in rename_codec(key):
            tensors[component][name] = tensor
    for component, module in modules.items():
        load_into(module, fold_weight_norm(tensors.pop(component)), folder.name)
    return Components(talker, codec, voice)
