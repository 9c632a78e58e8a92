"""Random Qwen3-TTS checkpoints of any size in the official layout: `python random_qwen3.py FOLDER SIZE DTYPE`.

Structure, names and scales are those of the tiny checkpoints that the parity tests use; only the numbers grow.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
if "mizuoto" not in sys.modules:
    runpy.run_path(str(CONFTEST))

import torch  # noqa: E402
from mizuoto.tests.engines.qwen3_tts import tiny  # noqa: E402

KIND, SPEAKER = "custom_voice", "Ryan"
CODEBOOK_SIZE = 2048
_SHIFTED = ("codec_", "spk_id")  # keys of ids behind the codes


@dataclass(frozen=True)
class Size:
    """What differs from a tiny checkpoint, by the part of the configuration that it stands in."""

    talker: Mapping[str, Any]
    predictor: Mapping[str, Any]
    codec_decoder: Mapping[str, Any] = field(default_factory=dict)
    codec_encoder: Mapping[str, Any] = field(default_factory=dict)


def _heads(heads: int, kv_heads: int, head_dim: int) -> dict[str, int]:
    return {"num_attention_heads": heads, "num_key_value_heads": kv_heads, "head_dim": head_dim}


def _rope(*sections: int) -> dict[str, Any]:
    kind = {"interleaved": True, "rope_type": "default", "type": "default"}
    return {"rope_scaling": {**kind, "mrope_section": list(sections)}}


_TEXT = {"text_vocab_size": 151_936, "text_hidden_size": 2048}
_OFFICIAL = _heads(16, 8, 128) | {"hidden_size": 1024, "intermediate_size": 3072}
_OFFICIAL_TALKER = _OFFICIAL | _rope(24, 20, 20) | _TEXT
_OFFICIAL_PREDICTOR = _OFFICIAL | {"num_hidden_layers": 5}
_OFFICIAL_DECODER = {
    **{"codebook_dim": 512, "latent_dim": 1024, "decoder_dim": 1536, "hidden_size": 512, "intermediate_size": 1024},
    **{"num_hidden_layers": 8, **_heads(16, 16, 64)},
}
_OFFICIAL_ENCODER = {
    **{"num_filters": 64, "hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 8, **_heads(8, 8, 64)},
    **{"codebook_dim": 256, "vector_quantization_hidden_dimension": 256, "upsample_groups": 512},
}
_MIDDLE = _heads(8, 4, 64) | {"hidden_size": 512, "intermediate_size": 1536}
SIZES = {
    "middle": Size(
        _MIDDLE | _rope(12, 10, 10) | {"num_hidden_layers": 12, "text_hidden_size": 512},
        _MIDDLE | {"num_hidden_layers": 5},
    ),
    "0.6B": Size(
        _OFFICIAL_TALKER | {"num_hidden_layers": 28}, _OFFICIAL_PREDICTOR, _OFFICIAL_DECODER, _OFFICIAL_ENCODER
    ),
}


def build(folder: Path, size: Size, dtype: torch.dtype, seed: int = 0) -> None:
    """Write a checkpoint with preset voices into `folder`; the codec's weights are float32 as in the official files."""
    codec_folder = folder / "speech_tokenizer"
    codec_folder.mkdir(parents=True)
    vocab = tiny.write_tokenizer(folder)
    config = model_config(size, tiny.model_config(KIND, "0b6", vocab, dtype))
    codec = codec_config(size)
    tiny.write_json(folder / "config.json", config)
    tiny.write_json(folder / "generation_config.json", tiny.GENERATION)
    tiny.write_json(folder / "preprocessor_config.json", tiny.PREPROCESSOR)
    tiny.write_json(codec_folder / "config.json", codec)
    tiny.write_json(codec_folder / "configuration.json", {"framework": "pytorch", "task": "feature-extraction"})
    tiny.write_json(codec_folder / "preprocessor_config.json", tiny.CODEC_PREPROCESSOR)
    generator = torch.Generator().manual_seed(seed)
    shapes = tiny.model_shapes(config)
    tiny.write_weights(folder, {name: tiny.model_weight(name, shape, generator).to(dtype) for name, shape in shapes})
    shapes = [
        *tiny.codec_decoder_shapes(codec["decoder_config"]), *tiny.codec_encoder_shapes(codec["encoder_config"])
    ]  # fmt: skip
    tiny.write_weights(codec_folder, {name: tiny.codec_weight(name, shape, generator) for name, shape in shapes})


def model_config(size: Size, config: dict[str, Any]) -> dict[str, Any]:
    """A tiny model's configuration grown to `size`: the ids behind its codes move up with the codes' number."""
    talker = {name: _shifted(name, value) for name, value in config["talker_config"].items()}
    talker |= {"vocab_size": CODEBOOK_SIZE + tiny.SUPPRESSED, **size.talker}
    predictor = talker["code_predictor_config"] | {"vocab_size": CODEBOOK_SIZE, **size.predictor}
    return config | {"talker_config": talker | {"code_predictor_config": predictor}}


def codec_config(size: Size) -> dict[str, Any]:
    """The codec's configuration."""
    config = deepcopy(tiny.CODEC)
    config["decoder_config"] |= {"codebook_size": CODEBOOK_SIZE, **size.codec_decoder}
    config["encoder_config"] |= {"codebook_size": CODEBOOK_SIZE, **size.codec_encoder}
    return config


def _shifted(name: str, value: Any) -> Any:
    if not name.startswith(_SHIFTED):
        return value
    shift = CODEBOOK_SIZE - tiny.CODEBOOK_SIZE
    return {key: each + shift for key, each in value.items()} if isinstance(value, dict) else value + shift


if __name__ == "__main__":
    torch.set_num_threads(1)
    build(Path(sys.argv[1]), SIZES[sys.argv[2]], getattr(torch, sys.argv[3]))
    print("{}")
