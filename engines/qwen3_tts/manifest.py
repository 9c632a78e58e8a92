"""What is known of Qwen3-TTS without loading it. Imports no torch."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from ..base import Download, Extra, Manifest, Option

_CONFIG_BYTES = 1 << 20
_LANGUAGES = (
    "Auto", "Chinese", "English", "Japanese", "Korean", "German", "French", "Russian", "Portuguese", "Spanish",
    "Italian",
)  # fmt: skip
_GB = 10**9


def _recognise(folder: Path) -> bool:
    with suppress(OSError, ValueError), open(folder / "config.json", "rb") as file:
        config = json.loads(file.read(_CONFIG_BYTES))
        return isinstance(config, dict) and config.get("model_type") == "qwen3_tts"
    return False


def _spoken_length(text: str) -> int:
    """Letters as they sound: a Han character, a kana or a Hangul syllable takes as long as three Latin letters."""
    return sum(3 if character >= "\u2e80" else 1 for character in text)


def _official(size: str, kind: str, gigabytes: float) -> Download:
    name = f"Qwen3-TTS-12Hz-{size}-{kind}"
    return Download(name, f"Qwen/{name}", int(gigabytes * _GB))


MANIFEST = Manifest(
    id="qwen3_tts",
    name="Qwen3-TTS",
    tasks=("tts", "clone", "design"),
    code_license="Apache-2.0",
    weights_license="Apache-2.0",
    weights_source="Hugging Face, Qwen",
    languages=("zh", "en", "ja", "ko", "de", "fr", "ru", "pt", "es", "it"),
    dtypes=("bf16", "fp16", "fp32"),
    voices=("Vivian", "Serena", "Uncle_Fu", "Dylan", "Eric", "Ryan", "Aiden", "Ono_Anna", "Sohee"),
    options=(
        Option(
            "language",
            "Auto",
            "What the text is in. Auto lets the model tell; Eric and Dylan speak their dialects for Auto and Chinese.",
            choices=_LANGUAGES,
        ),
        Option(
            "instruction",
            "",
            "How to say it, in plain words: whispering, out of breath. For 1.7B CustomVoice and VoiceDesign models.",
        ),
        Option(
            "temperature",
            0.9,
            "Variety of the speech: low is even, high is lively and may slip, 0 is always the same.",
            low=0.0, high=2.0, step=0.05,
        ),
        Option("top_k", 50, "Choose among this many codes; 0 chooses among all.", low=0, high=1000, step=1),
        Option("top_p", 1.0, "Choose among the likeliest codes up to this sum; 1 is all.", low=0.05, high=1.0),
        Option(
            "repetition_penalty", 1.05, "Above 1 keeps the speech from going round in circles.", low=1.0, high=2.0
        ),
        Option("subtalker_temperature", 0.9, "Variety of the finer codes; 0 is always the same.", low=0.0, high=2.0),
        Option("subtalker_top_k", 50, "As top_k, for the finer codes.", low=0, high=1000, step=1),
        Option("subtalker_top_p", 1.0, "As top_p, for the finer codes.", low=0.05, high=1.0),
        Option(
            "max_seconds",
            0.0,
            "Longest speech of one segment. 0: by the length of its text, which ends takes that would never end.",
            low=0.0, high=655.0, step=0.5,
        ),
        Option(
            "at_limit",
            "warn",
            "What to do with a take that reached its limit without coming to an end.",
            choices=("warn", "fail"),
        ),
        Option("stop_loops", True, "End a take that repeats itself for four seconds."),
        Option(
            "text_mode",
            "auto",
            "How the model reads: the whole text first, or word by word while it speaks. auto: as it was published.",
            choices=("auto", "whole", "streamed"),
        ),
        Option(
            "batch_size",
            1,
            "Segments said at once. More is faster on a card and needs more memory; each number sounds different.",
            low=1, high=8, step=1,
        ),
        Option(
            "decoding",
            "auto",
            "exact gives the publisher's codes to the bit, fast rounds otherwise. auto: exact on the CPU, else fast.",
            choices=("auto", "exact", "fast"),
        ),
    ),
    max_text_size=600,
    measure_text=_spoken_length,
    reads_numbers=True,
    sample_rate=24000,
    recognise=_recognise,
    downloads=(
        _official("0.6B", "CustomVoice", 2.5),
        _official("0.6B", "Base", 2.5),
        _official("1.7B", "CustomVoice", 4.5),
        _official("1.7B", "Base", 4.5),
        _official("1.7B", "VoiceDesign", 4.5),
    ),
    max_batch=8,
    reference_seconds=(0.5, 60.0),
    transcript="helps",
    extras=(Extra("soxr", "resampling references as the publisher does"),),
)  # fmt: skip
