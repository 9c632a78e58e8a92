"""The shapes of both networks: the transformer's follows from its tensors, Vocos's is in its config.yaml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from ...mizuoto_runtime.errors import ModelFileError
from ...mizuoto_runtime.loading.fields import mapping, positive, text
from ...mizuoto_runtime.loading.shapes import require
from ...mizuoto_runtime.loading.yaml import read_yaml
from ...mizuoto_runtime.nn.vocos import VocosConfig
from ...mizuoto_runtime.nn.vocos_mel import HOP_LENGTH, NUM_MELS, SAMPLE_RATE

_BLOCK = re.compile(r"blocks\.(\d+)\.")
_TEXT_BLOCK = re.compile(r"text\.blocks\.(\d+)\.")


@dataclass(frozen=True, slots=True)
class TransformerConfig:
    """Shape of the transformer; what tells v0 and v1 apart is in no tensor and not in here.

    Attributes:
        hidden_size, intermediate_size, num_layers, num_heads, head_dim: As usual.
        text_size, text_intermediate_size, num_text_layers: Of the text encoder.
        num_symbols: Rows of its table, with one for the filler.
        time_size: Sines and cosines of the time.
        has_head_norm: Whether queries and keys are normalised.
        has_skip: Whether what goes into the first block is also told to the end.
    """

    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    head_dim: int
    text_size: int
    text_intermediate_size: int
    num_text_layers: int
    num_symbols: int
    time_size: int
    has_head_norm: bool
    has_skip: bool

    @classmethod
    def of(cls, tensors: Mapping[str, torch.Tensor], source: str) -> TransformerConfig:
        """The shape that tensors, named as here, are of.

        Raises:
            ModelFileError: Tensors that every shape has are missing, or are not of such a network.
        """
        try:
            hidden_size, inputs = tensors["enter.weight"].shape
            num_symbols, text_size = tensors["text.embedding.weight"].shape
            head_dim = 2 * len(tensors["frequencies"])
            inner = len(tensors["blocks.0.attention.q_proj.weight"])
            intermediate_size = len(tensors["blocks.0.feed_forward.expand.weight"])
            time_size = tensors["time.expand.weight"].shape[1]
            is_odd = inputs != 2 * NUM_MELS + text_size or not head_dim or inner % head_dim or not intermediate_size
        except (KeyError, ValueError, IndexError, TypeError):
            is_odd = True
        if is_odd:
            raise ModelFileError(
                f'"{source}" holds no F5-TTS transformer for {NUM_MELS} mels; use the folder of its publisher.'
            )
        expansion = tensors.get("text.blocks.0.expand.weight", tensors["text.embedding.weight"][:0])
        return cls(
            hidden_size=hidden_size,
            intermediate_size=intermediate_size,
            num_layers=_count(_BLOCK, tensors),
            num_heads=inner // head_dim,
            head_dim=head_dim,
            text_size=text_size,
            text_intermediate_size=len(expansion),
            num_text_layers=_count(_TEXT_BLOCK, tensors),
            num_symbols=num_symbols,
            time_size=time_size,
            has_head_norm="blocks.0.attention.q_norm.weight" in tensors,
            has_skip="skip.weight" in tensors,
        )


def read_vocos_config(path: Path) -> VocosConfig:
    """Shape of the vocoder in a `config.yaml`.

    Raises:
        ModelFileError: The file is missing or damaged, or it is of another vocoder.
    """
    config = read_yaml(path)
    parts = {part: mapping(config, part) for part in ("feature_extractor", "backbone", "head")}
    kinds = {"feature_extractor": "MelSpectrogramFeatures", "backbone": "VocosBackbone", "head": "ISTFTHead"}
    for part, kind in kinds.items():
        if str(parts[part].get("class_path")).rpartition(".")[2] != kind:
            raise ModelFileError(
                f'"{path.parent.name}" is no Vocos for mels: the {part} in its config.yaml is '
                f"{parts[part].get('class_path')}; use vocos-mel-24khz."
            )
    mel, backbone, head = (mapping(parts[part], "init_args") for part in kinds)
    require(mel, {"sample_rate": SAMPLE_RATE, "n_mels": NUM_MELS, "hop_length": HOP_LENGTH}, "vocoder")
    require(backbone, {"adanorm_num_embeddings": None}, "vocoder")
    hidden_size = positive(backbone, "dim", int)
    require(head, {"dim": hidden_size, "hop_length": HOP_LENGTH}, "vocoder")
    return VocosConfig(
        num_mels=NUM_MELS,
        hidden_size=hidden_size,
        intermediate_size=positive(backbone, "intermediate_dim", int),
        num_layers=positive(backbone, "num_layers", int),
        n_fft=positive(head, "n_fft", int),
        hop_length=HOP_LENGTH,
        is_centred=text({"padding": "same", **head}, "padding", ("center", "same")) == "center",
    )


def _count(pattern: re.Pattern[str], tensors: Mapping[str, torch.Tensor]) -> int:
    return 1 + max((int(found[1]) for name in tensors if (found := pattern.match(name))), default=-1)
