"""What a checkpoint's JSON files and tensors say of its shape, in both layouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...mizuoto_runtime.errors import ModelFileError
from ...mizuoto_runtime.loading.fields import positive, read_json
from ...mizuoto_runtime.loading.shapes import require

MODEL_TYPE = "whisper"
NUM_MELS = (80, 128)
NUM_FRAMES = 3000  # of a window, 100 a second
NUM_FEATURES = 1500  # of a window, 50 a second
MAX_LAYERS = 200
MULTILINGUAL_VOCAB_SIZE = 51865  # or more

_FIXED = {"activation_function": "gelu", "scale_embedding": False, "max_source_positions": NUM_FEATURES}


@dataclass(frozen=True, slots=True)
class WhisperConfig:
    """Shape of a checkpoint.

    Attributes:
        num_mels: Bands of the spectrograms.
        hidden_size: Width of both networks.
        encoder_layers, encoder_heads, encoder_size: Layers, heads and inner width of the audio encoder.
        decoder_layers, decoder_heads, decoder_size: The same of the decoder.
        vocab_size: Tokens, times included.
        max_positions: Tokens of a window, of which half are for what was before.
        is_multilingual: Whether it knows other languages than English, and translates.
        alignment_heads: (layer, head) of the decoder whose attention follows the words.
    """

    num_mels: int
    hidden_size: int
    encoder_layers: int
    encoder_heads: int
    encoder_size: int
    decoder_layers: int
    decoder_heads: int
    decoder_size: int
    vocab_size: int
    max_positions: int
    is_multilingual: bool
    alignment_heads: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        """Check what the fields must be to each other."""
        if max(self.encoder_layers, self.decoder_layers) > MAX_LAYERS:
            raise ModelFileError(f"The model has more than {MAX_LAYERS} layers, which no Whisper has.")
        if self.num_mels not in NUM_MELS:
            raise ModelFileError(f"The model takes {self.num_mels} mel bands; Whisper has 80 or 128.")
        if self.hidden_size % self.encoder_heads or self.hidden_size % self.decoder_heads:
            raise ModelFileError(
                f"The model's width {self.hidden_size} cannot be shared by {self.encoder_heads} and "
                f"{self.decoder_heads} heads; use the folder as its publisher offers it."
            )
        for layer, head in self.alignment_heads:
            if not (0 <= layer < self.decoder_layers and 0 <= head < self.decoder_heads):
                raise ModelFileError(
                    f"The model's configuration aligns words by head {head} of layer {layer}, which it has not; "
                    "use the folder as its publisher offers it."
                )


def read_hugging_face(folder: Path) -> WhisperConfig:
    """The shape that `config.json` and, where there is one, `generation_config.json` state.

    Raises:
        ModelFileError: A file is missing or damaged, or it is of another model.
    """
    config = read_json(folder / "config.json")
    if config.get("model_type") != MODEL_TYPE:
        raise ModelFileError(
            f'"{folder.name}" is no Whisper model: its config.json says "{config.get("model_type")}". '
            "Use the folder as its publisher offers it."
        )
    require(config, _FIXED, "Whisper model")
    generation_path = folder / "generation_config.json"
    generation = read_json(generation_path) if generation_path.is_file() else {}
    layers, heads = (positive(config, f"decoder_{name}", int) for name in ("layers", "attention_heads"))
    vocab_size = positive(config, "vocab_size", int)
    return WhisperConfig(
        num_mels=positive(config, "num_mel_bins", int),
        hidden_size=positive(config, "d_model", int),
        encoder_layers=positive(config, "encoder_layers", int),
        encoder_heads=positive(config, "encoder_attention_heads", int),
        encoder_size=positive(config, "encoder_ffn_dim", int),
        decoder_layers=layers,
        decoder_heads=heads,
        decoder_size=positive(config, "decoder_ffn_dim", int),
        vocab_size=vocab_size,
        max_positions=positive(config, "max_target_positions", int),
        is_multilingual=bool(generation.get("is_multilingual", vocab_size >= MULTILINGUAL_VOCAB_SIZE)),
        alignment_heads=_alignment_heads(generation, layers, heads),
    )


def read_ctranslate2(folder: Path, shapes: Mapping[str, Sequence[int]], heads: Mapping[str, int]) -> WhisperConfig:
    """The shape that the tensors of a CTranslate2 file have; only the alignment is from `config.json`.

    Args:
        folder: Of the file.
        shapes: Tensor -> its shape.
        heads: "encoder" and "decoder" -> attention heads.

    Raises:
        ModelFileError: A tensor is missing, or it is of another model.
    """

    def shape(name: str, rank: int) -> Sequence[int]:
        found = shapes.get(name, ())
        if len(found) != rank:
            raise ModelFileError(
                f'"{folder.name}" is no Whisper model: its "{name}" has the shape {tuple(found)}. '
                "Convert the model again."
            )
        return found

    def layers(part: str) -> int:
        norms = (f"{part}/layer_{index}/ffn/layer_norm/gamma" for index in range(len(shapes)))
        return next(index for index, norm in enumerate((*norms, "")) if norm not in shapes)

    config_path = folder / "config.json"
    hidden_size, num_mels, _ = shape("encoder/conv1/weight", 3)
    vocab_size, _ = shape("decoder/embeddings/weight", 2)
    decoder_layers = layers("decoder")
    return WhisperConfig(
        num_mels=num_mels,
        hidden_size=hidden_size,
        encoder_layers=layers("encoder"),
        encoder_heads=heads["encoder"],
        encoder_size=shape("encoder/layer_0/ffn/linear_0/weight", 2)[0],
        decoder_layers=decoder_layers,
        decoder_heads=heads["decoder"],
        decoder_size=shape("decoder/layer_0/ffn/linear_0/weight", 2)[0],
        vocab_size=vocab_size,
        max_positions=shape("decoder/position_encodings/encodings", 2)[0],
        is_multilingual=vocab_size >= MULTILINGUAL_VOCAB_SIZE,
        alignment_heads=_alignment_heads(
            read_json(config_path) if config_path.is_file() else {}, decoder_layers, heads["decoder"]
        ),
    )


def _alignment_heads(config: Mapping[str, Any], layers: int, heads: int) -> tuple[tuple[int, int], ...]:
    """The published heads, or all of the upper half of the layers, as the upstream has it for models without any."""
    published = config.get("alignment_heads")
    if not published:
        return tuple((layer, head) for layer in range(layers // 2, layers) for head in range(heads))
    is_list = isinstance(published, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(type(value) is int for value in pair) for pair in published
    )
    if not is_list:
        raise ModelFileError(f'The model\'s configuration says "alignment_heads": {published!r}, which is no list.')
    return tuple((layer, head) for layer, head in published)
