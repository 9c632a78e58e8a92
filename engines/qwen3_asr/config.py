"""What a checkpoint's config.json says: the shapes of both parts, and the languages that it knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...mizuoto_runtime.attention import Site
from ...mizuoto_runtime.errors import ModelFileError
from ...mizuoto_runtime.lm.qwen import QwenConfig
from ...mizuoto_runtime.loading.fields import mapping, positive, read_json
from ...mizuoto_runtime.loading.shapes import require
from .manifest import LANGUAGE_NAMES, MODEL_TYPE, is_aligner

CHUNK_FRAMES = 100
"""Mel frames that the convolutions see at once; the number of tokens in a prompt counts on it."""


@dataclass(frozen=True, slots=True)
class AudioConfig:
    """Shape of the audio encoder.

    Attributes:
        num_mels: Bands of the spectrogram.
        channels: Of the convolutions.
        site: Its attention.
        intermediate_size: Width inside the feed-forward part.
        num_layers: Layers.
        output_size: Width of what it gives, the decoder's.
        window_chunks: Chunks that attention sees at once.
    """

    num_mels: int
    channels: int
    site: Site
    intermediate_size: int
    num_layers: int
    output_size: int
    window_chunks: int

    @property
    def hidden_size(self) -> int:
        """Width of a layer."""
        return self.site.num_heads * self.site.head_dim

    @classmethod
    def from_json(cls, config: Mapping[str, Any]) -> AudioConfig:
        """The shape that `audio_config` states.

        Raises:
            ModelFileError: A key is missing or of another kind, or the encoder is another one.
        """
        require(config, {"activation_function": "gelu", "n_window": CHUNK_FRAMES // 2}, "audio encoder")
        hidden_size, num_heads = positive(config, "d_model", int), positive(config, "encoder_attention_heads", int)
        window_frames = positive(config, "n_window_infer", int)
        if hidden_size % num_heads or hidden_size % 2 or window_frames % CHUNK_FRAMES:
            raise ModelFileError(
                f'The audio encoder has "d_model" {hidden_size} for {num_heads} heads and "n_window_infer" '
                f"{window_frames}, which do not divide; download its config.json again."
            )
        return cls(
            num_mels=positive(config, "num_mel_bins", int),
            channels=positive(config, "downsample_hidden_size", int),
            site=Site(f"{MODEL_TYPE}:audio", num_heads, hidden_size // num_heads),
            intermediate_size=positive(config, "encoder_ffn_dim", int),
            num_layers=positive(config, "encoder_layers", int),
            output_size=positive(config, "output_dim", int),
            window_chunks=window_frames // CHUNK_FRAMES,
        )


@dataclass(frozen=True, slots=True)
class CheckpointConfig:
    """One checkpoint.

    Attributes:
        audio: Shape of the audio encoder.
        decoder: Shape of the decoder.
        vocab_size: Tokens.
        is_tied: Whether the decoder writes with the weights that it reads with.
        max_positions: Most positions of sound and text together.
        languages: BCP 47 tags.
    """

    audio: AudioConfig
    decoder: QwenConfig
    vocab_size: int
    is_tied: bool
    max_positions: int
    languages: tuple[str, ...]

    @classmethod
    def read(cls, folder: Path) -> CheckpointConfig:
        """The configuration in `folder`, of the publisher's layout or of that for transformers' own class.

        Raises:
            ModelFileError: The file is missing or damaged, or it is of another model.
        """
        config = read_json(folder / "config.json")
        if config.get("model_type") != MODEL_TYPE:
            raise ModelFileError(
                f'"{folder.name}" is no Qwen3-ASR model: its config.json says "{config.get("model_type")}". '
                "Use the folder as its publisher offers it."
            )
        if is_aligner(config):
            raise ModelFileError(
                f'"{folder.name}" is the forced aligner, which times words and writes none; '
                "load Qwen3-ASR-0.6B or Qwen3-ASR-1.7B."
            )
        is_own = "thinker_config" in config
        parts = mapping(config, "thinker_config") if is_own else config
        text = mapping(parts, "text_config")
        audio, decoder = AudioConfig.from_json(mapping(parts, "audio_config")), QwenConfig.from_json(text, _SITE)
        if audio.output_size != decoder.hidden_size:
            raise ModelFileError(
                f"The audio encoder gives {audio.output_size} channels and the decoder takes {decoder.hidden_size}; "
                "download the model's config.json again."
            )
        return cls(
            audio=audio,
            decoder=decoder,
            vocab_size=positive(text, "vocab_size", int),
            # Where nothing is said, the defaults of the classes that read either layout.
            is_tied=bool(text.get("tie_word_embeddings", not is_own and config.get("tie_word_embeddings", True))),
            max_positions=positive(text, "max_position_embeddings", int),
            languages=_languages(config.get("support_languages")),
        )


_SITE = f"{MODEL_TYPE}:decoder"


def _languages(names: Any) -> tuple[str, ...]:
    """Tags of the languages that a checkpoint lists; all of the model's where it lists none that are known."""
    listed = {str(name).casefold() for name in names} if isinstance(names, list) else set()
    return tuple(tag for tag, name in LANGUAGE_NAMES.items() if name.casefold() in listed) or tuple(LANGUAGE_NAMES)
