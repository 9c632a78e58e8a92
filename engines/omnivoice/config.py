"""What a checkpoint's two `config.json` say: the shape of the language model and of the codec."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...mizuoto_runtime.errors import ModelFileError
from ...mizuoto_runtime.lm.qwen import QwenConfig
from ...mizuoto_runtime.loading.fields import mapping, positive, read_json
from ...mizuoto_runtime.loading.shapes import require, size_list, sizes
from ...mizuoto_runtime.nn.dac import DacConfig
from ...mizuoto_runtime.nn.hubert import HubertConfig
from .duration import FRAME_RATE_HZ
from .manifest import MODEL_TYPE, SAMPLE_RATE

CODEC_FOLDER = "audio_tokenizer"
CODEC_TYPE = "higgs_audio_v2_tokenizer"
SEMANTIC_RATE = 16000
_REQUIRED = {
    **{"sample_rate": SAMPLE_RATE, "semantic_sample_rate": SEMANTIC_RATE},
    **{"channel_ratios": [1, 1], "strides": [1, 1]},
}


@dataclass(frozen=True, slots=True)
class TalkerConfig:
    """Shape of the language model.

    Attributes:
        decoder: Of its layers.
        text_vocab_size: Rows of the text's embeddings.
        num_codebooks: Codes of a frame.
        codebook_size: Codes of a codebook, the mask among them.
        mask_id: The code that stands for one yet to be found.
        max_positions: The longest prompt with its frames.
    """

    decoder: QwenConfig
    text_vocab_size: int
    num_codebooks: int
    codebook_size: int
    mask_id: int
    max_positions: int

    @classmethod
    def read(cls, folder: Path) -> TalkerConfig:
        """The configuration in a model's folder.

        Raises:
            ModelFileError: The file is missing or damaged, or it is of another model.
        """
        config = read_json(folder / "config.json")
        if config.get("model_type") != MODEL_TYPE:
            raise ModelFileError(
                f'"{folder.name}" is no OmniVoice model: its config.json says "{config.get("model_type")}". '
                "Use the folder as its publisher offers it."
            )
        decoder = mapping(config, "llm_config")
        require(decoder, {"model_type": "qwen3"}, "language model")
        shape = cls(
            decoder=QwenConfig.from_json(decoder, f"{MODEL_TYPE}:talker"),
            text_vocab_size=positive(decoder, "vocab_size", int),
            num_codebooks=positive(config, "num_audio_codebook", int),
            codebook_size=positive(config, "audio_vocab_size", int),
            mask_id=positive(config, "audio_mask_id", int),
            max_positions=positive(decoder, "max_position_embeddings", int),
        )
        if shape.mask_id >= shape.codebook_size:
            raise ModelFileError(
                f'The model\'s configuration has "audio_mask_id" {shape.mask_id} among {shape.codebook_size} codes, '
                "which cannot be; download its config.json again."
            )
        return shape


@dataclass(frozen=True, slots=True)
class CodecConfig:
    """Shape of the codec, of both its directions.

    Attributes:
        acoustic: Of its encoder and decoder of sound.
        semantic: Of its encoder of speech.
        semantic_step: Frames of the semantic model a frame of the codec.
        num_codebooks: Codes of a frame.
        codebook_size: Entries of a codebook.
        codebook_dim: Width of an entry.
        kernel_size: Taps of the first convolution behind the semantic model.
        unit_kernel_size: Taps of those in its residual units.
        unit_dilations: Of a block's residual units.
        num_blocks: Blocks of them.
    """

    acoustic: DacConfig
    semantic: HubertConfig
    semantic_step: int
    num_codebooks: int
    codebook_size: int
    codebook_dim: int
    kernel_size: int
    unit_kernel_size: int
    unit_dilations: tuple[int, ...]
    num_blocks: int

    @classmethod
    def read(cls, folder: Path) -> CodecConfig:
        """The configuration in the folder of a codec.

        Raises:
            ModelFileError: The file is missing or damaged, or the codec is of a kind that is not computed here.
        """
        config = read_json(folder / "config.json")
        if config.get("model_type") != CODEC_TYPE:
            raise ModelFileError(
                f'"{folder.name}" holds a "{config.get("model_type")}" and the model needs "{CODEC_TYPE}"; '
                f"copy the {CODEC_FOLDER} folder of the same model there."
            )
        require(config, _REQUIRED, "codec")
        acoustic = DacConfig.from_json(mapping(config, "acoustic_model_config"))
        if acoustic.hop_length * FRAME_RATE_HZ != SAMPLE_RATE:
            raise ModelFileError(
                f"The codec makes {acoustic.hop_length} samples of a frame instead of {SAMPLE_RATE // FRAME_RATE_HZ}; "
                f"use the {CODEC_FOLDER} folder of an OmniVoice model."
            )
        step = int(acoustic.hop_length / (SAMPLE_RATE / SEMANTIC_RATE) / positive(config, "downsample_factor", int))
        return cls(
            acoustic=acoustic,
            semantic=HubertConfig.from_json(mapping(config, "semantic_model_config")),
            semantic_step=max(1, step),
            num_codebooks=_num_codebooks(config),
            unit_dilations=size_list(config, "block_dilations"),
            num_blocks=len(size_list(config, "strides")),
            **sizes(config, ("codebook_size", "codebook_dim", "kernel_size", "unit_kernel_size")),
        )

    @property
    def hidden_size(self) -> int:
        """Width of what is quantised: sound and speech side by side."""
        return self.acoustic.latent_dim + self.semantic.hidden_size


def _num_codebooks(config: Mapping[str, Any]) -> int:
    """As many as its highest bandwidth, in kilobits a second, pays for."""
    bandwidths = config.get("target_bandwidths")
    if not isinstance(bandwidths, list) or not bandwidths or not isinstance(bandwidths[-1], int | float):
        raise ModelFileError('The codec\'s configuration has no "target_bandwidths"; download its config.json again.')
    bits = math.ceil(math.log2(positive(config, "codebook_size", int)))
    return int(1000 * bandwidths[-1] // (FRAME_RATE_HZ * bits))
