"""What is known of Qwen3-ASR without loading it. Imports no torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..base import Download, Manifest, Option

MODEL_TYPE = "qwen3_asr"
LANGUAGE_NAMES: Mapping[str, str] = {
    **{"zh": "Chinese", "yue": "Cantonese", "en": "English", "ar": "Arabic", "de": "German", "fr": "French"},
    **{"es": "Spanish", "pt": "Portuguese", "id": "Indonesian", "it": "Italian", "ko": "Korean", "ru": "Russian"},
    **{"th": "Thai", "vi": "Vietnamese", "ja": "Japanese", "tr": "Turkish", "hi": "Hindi", "ms": "Malay"},
    **{"nl": "Dutch", "sv": "Swedish", "da": "Danish", "fi": "Finnish", "pl": "Polish", "cs": "Czech"},
    **{"fil": "Filipino", "fa": "Persian", "el": "Greek", "hu": "Hungarian", "mk": "Macedonian", "ro": "Romanian"},
}
"""BCP 47 tag -> what the model calls the language."""

_CONFIG_BYTES = 1 << 20
_GB = 10**9


def is_aligner(config: Mapping[str, Any]) -> bool:
    """Whether a `config.json` is that of the forced aligner, which shares the model's type and writes no text."""
    thinker = config.get("thinker_config")
    kind = thinker.get("model_type") if isinstance(thinker, dict) else None
    return "forced_aligner" in str(kind) or "TokenClassification" in str(config.get("architectures"))


def _recognise(folder: Path) -> bool:
    with suppress(OSError, ValueError), open(folder / "config.json", "rb") as file:
        config = json.loads(file.read(_CONFIG_BYTES))
        return isinstance(config, dict) and config.get("model_type") == MODEL_TYPE and not is_aligner(config)
    return False


MANIFEST = Manifest(
    id="qwen3_asr",
    name="Qwen3-ASR",
    tasks=("asr",),
    code_license="Apache-2.0",
    weights_license="Apache-2.0",
    weights_source="Hugging Face, Qwen",
    languages=tuple(LANGUAGE_NAMES),
    dtypes=("bf16", "fp16", "fp32"),
    voices=(),
    options=(
        Option("prompt", "", "Text that helps with spelling: names, terms, what the recording is about."),
        Option(
            "max_new_tokens",
            0,
            "Longest transcript of one passage, in tokens. 0: by the length of its sound, which ends what never would.",
            low=0, high=8192, step=1,
        ),
        Option(
            "max_chunk_seconds",
            1200.0,
            "Longer recordings are cut in quiet places about so far apart; every piece gives one passage.",
            low=10.0, high=1200.0, step=1.0,
        ),
        Option(
            "split_at_pauses",
            False,
            "Hear speech alone, cut in its pauses: a passage has at most max_chunk_seconds, 30 at most. For subtitles.",
        ),
        Option(
            "temperature",
            0.0,
            "0 writes the likeliest words, always the same; above 0 they are drawn with the seed.",
            low=0.0, high=2.0, step=0.05,
        ),
    ),
    max_text_size=0,
    sample_rate=16000,
    recognise=_recognise,
    downloads=(
        Download("Qwen3-ASR-0.6B", "Qwen/Qwen3-ASR-0.6B", int(1.9 * _GB)),
        Download("Qwen3-ASR-1.7B", "Qwen/Qwen3-ASR-1.7B", int(4.7 * _GB)),
    ),
)  # fmt: skip
