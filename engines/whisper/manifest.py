"""What is known of Whisper without loading it. Imports no torch."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from ..base import Download, Manifest, Option
from .languages import TAGS
from .settings import TRANSCRIBE, TRANSLATE

SAMPLE_RATE = 16000
CTRANSLATE2_MODEL = "model.bin"
_CONFIG_BYTES = 1 << 20
_SPEC_NAME = b"WhisperSpec\0"
_MB = 10**6


def _recognise(folder: Path) -> bool:
    with suppress(OSError, ValueError):
        if is_ctranslate2(folder):
            return True
        with open(folder / "config.json", "rb") as file:
            config = json.loads(file.read(_CONFIG_BYTES))
        return isinstance(config, dict) and config.get("model_type") == "whisper"
    return False


def is_ctranslate2(folder: Path) -> bool:
    """Whether the folder holds a Whisper model of CTranslate2.

    Raises:
        OSError: Its file cannot be read.
    """
    path = folder / CTRANSLATE2_MODEL
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        start = file.read(6 + len(_SPEC_NAME))  # behind a version and the length of the name
    return start[6:] == _SPEC_NAME


def _official(size: str, megabytes: int) -> Download:
    return Download(f"whisper-{size}", f"openai/whisper-{size}", megabytes * _MB)


MANIFEST = Manifest(
    id="whisper",
    name="Whisper",
    tasks=("asr",),
    code_license="MIT",
    weights_license="MIT",
    weights_source="Hugging Face, OpenAI",
    languages=TAGS,
    dtypes=("fp16", "bf16", "fp32"),
    voices=(),
    options=(
        Option(
            "task",
            TRANSCRIBE,
            "transcribe writes what is said, translate writes it in English.",
            choices=(TRANSCRIBE, TRANSLATE),
        ),
        Option("word_timestamps", False, "Find the times of every word, too; takes a little longer."),
        Option(
            "prompt",
            "",
            "Text that might have come before: names and terms in it are spelt like that. Not an instruction.",
        ),
        Option(
            "temperature",
            0.0,
            "0 takes the likeliest words, the same each time; above 0 words are drawn, and depend on the seed.",
            low=0.0, high=1.0, step=0.1,
        ),
        Option(
            "temperature_fallback",
            True,
            "Hear a window again at higher temperatures where the text repeats itself or is improbable.",
        ),
        Option("beam_size", 1, "Texts followed at once at temperature 0; 5 is slower and a little better.",
               low=1, high=8, step=1),
        Option(
            "condition_on_previous_text",
            True,
            "Let each window of 30 s read the text before it. Off: a mistake does not go on, spelling may change.",
        ),
        Option("no_speech_threshold", 0.6, "A window is silent above this probability, if its text is improbable.",
               low=0.0, high=1.0),
        Option("logprob_threshold", -1.0, "A text whose mean log probability is below this is improbable.",
               low=-10.0, high=0.0),
        Option("compression_ratio_threshold", 2.4, "A text that compresses better than this repeats itself.",
               low=1.0, high=10.0),
        Option(
            "hallucination_silence_threshold",
            0.0,
            "With word_timestamps: leave out what looks invented beside silences longer than this (s); 0 is off.",
            low=0.0, high=30.0, step=0.1,
        ),
    ),
    max_text_size=0,
    sample_rate=SAMPLE_RATE,
    recognise=_recognise,
    downloads=(
        _official("tiny", 155), _official("tiny.en", 155), _official("base", 295), _official("base.en", 295),
        _official("small", 971), _official("small.en", 971), _official("medium", 3060), _official("medium.en", 3060),
        _official("large-v3", 3092), _official("large-v3-turbo", 1623),
    ),
)  # fmt: skip
