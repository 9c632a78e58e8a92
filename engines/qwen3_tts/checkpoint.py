"""A checkpoint's folder into modules: the model's files, and those of the speech tokenizer inside it or shared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from ...mizuoto_runtime.errors import ModelFileError
from ...mizuoto_runtime.loading.checkpoint import read_checkpoint_folder
from ...mizuoto_runtime.loading.fields import mapping, read_json
from ...mizuoto_runtime.loading.keys import load_into
from ...mizuoto_runtime.loading.rows import stored_rows
from ...mizuoto_runtime.nn.ecapa import EcapaConfig
from ...mizuoto_runtime.nn.mimi import MimiConfig
from ...mizuoto_runtime.nn.rvq import fold_codebooks
from .codec import CodecConfig, CodecDecoder
from .config import BASE, TOKENIZER_TYPE, CheckpointConfig
from .keys import TEXT_EMBEDDING, rename
from .talker import Talker
from .voice import VoiceEncoder

SHARED_TOKENIZER = "Qwen3-TTS-Tokenizer-12Hz"
TALKER, CODEC, VOICE = "talker", "codec", "voice"


@dataclass(frozen=True, slots=True)
class Components:
    """The modules of a checkpoint, their weights in place.

    Attributes:
        talker: Text and codes to codes.
        codec: Codes to sound.
        voice: Sound to a voice; only Base models have one.
    """

    talker: Talker
    codec: CodecDecoder
    voice: VoiceEncoder | None = None


def read_components(folder: Path, config: CheckpointConfig, dtype: torch.dtype) -> Components:
    """The modules of the checkpoint in `folder`, in `dtype` on the CPU.

    Raises:
        ModelFileError: A file is missing, damaged or of another model.
    """
    tokenizer = find_tokenizer(folder)
    codec_config = read_json(tokenizer / "config.json")
    if codec_config.get("model_type") != TOKENIZER_TYPE:
        raise ModelFileError(
            f'"{tokenizer}" holds a "{codec_config.get("model_type")}" and the model needs "{TOKENIZER_TYPE}"; '
            "copy the speech_tokenizer folder of the same model there."
        )
    voice = None
    shape = config.talker
    # A third of the small checkpoint, of which a prompt needs a few rows.
    text = stored_rows(folder, TEXT_EMBEDDING, (shape.text_vocab_size, shape.text_hidden_size))
    with torch.device("meta"):
        talker = Talker(shape, config.text_tokens, text)
        codec = CodecDecoder(CodecConfig.from_json(mapping(codec_config, "decoder_config")))
        if config.kind == BASE:
            mimi = MimiConfig.from_json(mapping(codec_config, "encoder_config"), config.talker.num_codebooks)
            voice = VoiceEncoder(EcapaConfig.from_json(config.speaker_encoder), mimi)
    modules: dict[str, nn.Module] = {TALKER: talker, CODEC: codec} | ({VOICE: voice} if voice else {})
    tensors: dict[str, dict[str, torch.Tensor]] = {name: {} for name in modules}
    for source in (folder, tokenizer):
        for key, tensor in read_checkpoint_folder(source, dtype, lambda key: _is_read(key, modules)):
            component, name = rename(key)
            tensors[component][name] = tensor
    for component, module in modules.items():
        load_into(module, fold_codebooks(tensors.pop(component)), folder.name)
    return Components(talker, codec, voice)


def _is_read(key: str, modules: Mapping[str, nn.Module]) -> bool:
    return key != TEXT_EMBEDDING and rename(key)[0] in modules


def find_tokenizer(folder: Path) -> Path:
    """The speech tokenizer's folder: inside the model's, or shared by several models beside them.

    Raises:
        ModelFileError: There is none.
    """
    places = [folder / "speech_tokenizer", folder.parent / SHARED_TOKENIZER]
    found = next((place for place in places if (place / "config.json").is_file()), None)
    if found is None:
        raise ModelFileError(
            f'"{folder.name}" has no speech tokenizer: neither "speech_tokenizer" in it nor "{SHARED_TOKENIZER}" '
            "beside it. Copy one of them there."
        )
    return found
