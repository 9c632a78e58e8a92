"""What is known of VoxCPM without loading it. Imports no torch."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from ..base import KEEP_VOICE, Download, Extra, Manifest, Option

FIRST, SECOND = "voxcpm", "voxcpm2"  # "architecture" in config.json
AUTO, REFERENCE, CONTINUATION, BOTH = VOICE_MODES = ("auto", "reference", "continuation", "both")
WARN, FAIL = "warn", "fail"
LORA_AUTO, LORA_OFF = "auto", "off"
MAX_STEPS, MAX_SECONDS = 100, 600.0
_CONFIG_BYTES = 1 << 20
_PARTS = {"lm_config", "encoder_config", "dit_config", "patch_size"}
_GB = 10**9


def _recognise(folder: Path) -> bool:
    with suppress(OSError, ValueError, AttributeError), open(folder / "config.json", "rb") as file:
        config = json.loads(file.read(_CONFIG_BYTES))
        # Without a name it is the first version, told by its parts.
        named = {"architecture": FIRST, **config} if config.keys() >= _PARTS else config
        return str(named.get("architecture", "")).lower() in (FIRST, SECOND)
    return False


def _spoken_length(text: str) -> int:
    """Letters as they sound: a Han character, a kana or a Hangul syllable takes as long as three Latin letters."""
    return sum(3 if character >= "\u2e80" else 1 for character in text)


_WEIGHTS = (".safetensors", ".pth")  # the codec of all versions is pickled

MANIFEST = Manifest(
    id="voxcpm",
    name="VoxCPM",
    tasks=("tts", "clone", "design"),
    code_license="Apache-2.0",
    weights_license="Apache-2.0",
    weights_source="Hugging Face, openbmb",
    languages=(
        *("zh", "en", "ar", "my", "da", "nl", "fi", "fr", "de", "el", "he", "hi", "id", "it", "ja", "km", "ko", "lo"),
        *("ms", "no", "pl", "pt", "ru", "es", "sw", "sv", "tl", "th", "tr", "vi"),
    ),
    dtypes=("bf16", "fp16", "fp32"),
    voices=(),
    options=(
        Option(
            "style",
            "",
            "How to say it, in plain words: a bit faster, cheerful. For VoxCPM 2; it is not read aloud.",
        ),
        Option(
            "voice_mode",
            AUTO,
            "How a cloned voice is used: its sound, a continuation of its recording, or both. auto: both where the "
            "words of the recording are known and no style is asked for.",
            choices=VOICE_MODES,
        ),
        Option(
            "cfg",
            2.0,
            "How closely the speech follows text and voice: low is relaxed, high is strict and may sound strained.",
            low=0.0, high=10.0, step=0.1,
        ),
        Option(
            "steps",
            10,
            "Diffusion steps of a patch. More is slower and a little cleaner; 1 is noise.",
            low=1, high=MAX_STEPS, step=1,
        ),
        Option(
            "attempts",
            3,
            "Takes that are too long for their text are said again from the next seed, up to so many in all.",
            low=1, high=10, step=1,
        ),
        Option(
            "length_ratio",
            6.0,
            "Patches for each token of the text from which on a take is too long.",
            low=1.0, high=30.0, step=0.5,
        ),
        Option(
            "max_seconds",
            0.0,
            "Longest speech of one segment. 0: by the length of its text, which ends takes that would never end.",
            low=0.0, high=MAX_SECONDS, step=0.5,
        ),
        Option(
            "min_patches",
            2,
            "So many patches and two more are said before the model may end.",
            low=0, high=1000, step=1,
        ),
        Option(
            "at_limit",
            WARN,
            "What to do with a take that reached its limit without coming to an end.",
            choices=(WARN, FAIL),
        ),
        Option(
            "stream_patches",
            0,
            "Patches that the decoder turns into sound at a time, for less memory. 0: a whole segment, as published.",
            low=0, high=256, step=1,
        ),
        Option(
            KEEP_VOICE,
            True,
            "Without a recording the model makes up a voice. On: a text keeps that of its first segment. Off: every "
            "segment has one of its own.",
        ),
        Option(
            "lora",
            LORA_AUTO,
            "Adapter file inside the model's folder. auto takes lora_weights if it is there, off takes none.",
        ),
    ),
    max_text_size=400,
    measure_text=_spoken_length,
    reads_numbers=True,
    sample_rate=48000,
    recognise=_recognise,
    downloads=(
        Download("VoxCPM2", "openbmb/VoxCPM2", int(5.0 * _GB), _WEIGHTS),
        Download("VoxCPM1.5", "openbmb/VoxCPM1.5", int(2.0 * _GB), _WEIGHTS),
        Download("VoxCPM-0.5B", "openbmb/VoxCPM-0.5B", int(1.7 * _GB), (*_WEIGHTS, ".bin")),
    ),
    reference_seconds=(0.5, 60.0),
    transcript="helps",
    extras=(Extra("soxr", "resampling references as VoxCPM 2's publisher does"),),
)  # fmt: skip
