"""The shape of a checkpoint, out of its `config.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...mizuoto_runtime.errors import ModelFileError
from ...mizuoto_runtime.loading.fields import mapping, positive, read_json
from ...mizuoto_runtime.loading.shapes import size_list
from ...mizuoto_runtime.nn.albert import AlbertConfig
from ...mizuoto_runtime.nn.istftnet import IstftNetConfig

BOUNDARY_ID = 0  # at both ends of what the talker reads
FRAME_RATE_HZ = 40  # durations count these frames
CURVE_VALUES = 2  # values of pitch and energy in one of them


@dataclass(frozen=True, slots=True)
class CheckpointConfig:
    """Shape of talker and decoder.

    Attributes:
        vocab: Phoneme -> id.
        albert: Of the talker's first encoder.
        hidden_size: Width of its others.
        style_size: Width of one half of a voice's row: how it sounds, or how it speaks.
        num_layers: Of each of these encoders.
        text_kernel_size: Taps of the text encoder.
        max_duration: Longest phoneme, in frames.
        vocoder: Of the decoder's second part.
    """

    vocab: Mapping[str, int]
    albert: AlbertConfig
    hidden_size: int
    style_size: int
    num_layers: int
    text_kernel_size: int
    max_duration: int
    vocoder: IstftNetConfig

    @property
    def vocab_size(self) -> int:
        """Ids that the talker knows."""
        return self.albert.vocab_size

    @property
    def max_phonemes(self) -> int:
        """Longest text; also the rows of a voice, one for each length."""
        return self.albert.max_positions - 2

    @classmethod
    def read(cls, folder: Path) -> CheckpointConfig:
        """The shape that `config.json` in `folder` states.

        Raises:
            ModelFileError: It is missing, damaged or of another model.
        """
        return cls.from_json(read_json(folder / "config.json"))

    @classmethod
    def from_json(cls, config: Mapping[str, Any]) -> CheckpointConfig:
        """The same from its contents. Raises what `read` raises."""
        vocab_size, style_size = positive(config, "n_token", int), positive(config, "style_dim", int)
        return cls(
            vocab=_vocab(mapping(config, "vocab"), vocab_size),
            albert=_albert(mapping(config, "plbert"), vocab_size),
            hidden_size=positive(config, "hidden_dim", int),
            style_size=style_size,
            num_layers=positive(config, "n_layer", int),
            text_kernel_size=positive(config, "text_encoder_kernel_size", int),
            max_duration=positive(config, "max_dur", int),
            vocoder=_vocoder(mapping(config, "istftnet"), style_size),
        )


def _albert(config: Mapping[str, Any], vocab_size: int) -> AlbertConfig:
    return AlbertConfig(
        vocab_size=vocab_size,
        hidden_size=positive(config, "hidden_size", int),
        num_heads=positive(config, "num_attention_heads", int),
        intermediate_size=positive(config, "intermediate_size", int),
        num_passes=positive(config, "num_hidden_layers", int),
        max_positions=positive(config, "max_position_embeddings", int),
    )


def _vocoder(config: Mapping[str, Any], style_size: int) -> IstftNetConfig:
    dilations = config.get("resblock_dilation_sizes")
    if not isinstance(dilations, list):
        raise ModelFileError(
            f'The model\'s configuration says "resblock_dilation_sizes": {dilations!r}, which is no list of lists.'
        )
    shape = IstftNetConfig(
        channels=positive(config, "upsample_initial_channel", int),
        upsample_rates=size_list(config, "upsample_rates"),
        upsample_kernels=size_list(config, "upsample_kernel_sizes"),
        block_kernels=size_list(config, "resblock_kernel_sizes"),
        block_dilations=tuple(
            size_list({"resblock_dilation_sizes": row}, "resblock_dilation_sizes") for row in dilations
        ),
        n_fft=positive(config, "gen_istft_n_fft", int),
        hop_length=positive(config, "gen_istft_hop_size", int),
        style_size=style_size,
    )
    is_paired = len(shape.upsample_rates) == len(shape.upsample_kernels)
    if not is_paired or len(shape.block_kernels) != len(shape.block_dilations):
        raise ModelFileError(
            "The model's configuration contradicts itself: its upsampling or residual layers do not pair up; "
            "download its config.json again."
        )
    frame_rate = shape.sample_rate / shape.samples_per_frame
    if frame_rate != FRAME_RATE_HZ * CURVE_VALUES:
        raise ModelFileError(
            f"The decoder takes {frame_rate:g} frames a second instead of {FRAME_RATE_HZ * CURVE_VALUES}; it belongs "
            "to another model: use the config.json of Kokoro-82M."
        )
    return shape


def _vocab(vocab: Mapping[str, Any], vocab_size: int) -> dict[str, int]:
    for phoneme, number in vocab.items():
        if type(number) is not int or not 0 < number < vocab_size:
            raise ModelFileError(
                f'The model\'s configuration gives phoneme "{phoneme}" the id {number!r}, which is none from 1 to '
                f"{vocab_size - 1}; download its config.json again."
            )
    return dict(vocab)
