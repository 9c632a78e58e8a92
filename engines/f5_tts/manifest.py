"""What is known of F5-TTS without loading it. Imports no torch."""

from __future__ import annotations

from pathlib import Path

from ..base import Companion, Download, Extra, Manifest, Option
from .files import VERSIONS, VOCODER, find_weights

MAX_REFERENCE_S = 12.0
MAX_STEPS = 128
AUTO = "auto"


def _recognise(folder: Path) -> bool:
    return find_weights(folder) is not None


def num_bytes(text: str) -> int:
    """Length of a text as the model reckons with it."""
    return len(text.encode())


def _download(name: str) -> Download:
    """A release, each of which is a folder of one repository, and the vocoder that all of them have."""
    vocoder = Companion("charactr/vocos-mel-24khz", ("config.yaml", "pytorch_model.bin"), VOCODER)
    return Download(name, "SWivid/F5-TTS", 1_405_000_000, folder=name, companions=(vocoder,))


MANIFEST = Manifest(
    id="f5_tts",
    name="F5-TTS",
    tasks=("tts", "clone"),
    code_license="MIT",
    weights_license="CC-BY-NC-4.0",
    weights_source="Hugging Face, SWivid/F5-TTS and charactr/vocos-mel-24khz",
    languages=("en", "zh"),
    dtypes=("fp16", "bf16", "fp32"),
    voices=(),
    options=(
        Option("steps", 32, "Steps from noise to speech. 16 is twice as fast.", low=1, high=MAX_STEPS, step=1),
        Option(
            "cfg",
            2.0,
            "How closely the speech keeps to text and voice. 0 takes half the time and mumbles; high is harsh.",
            low=0.0, high=10.0, step=0.1,
        ),
        Option("sway", -1.0, "Below 0 there are more steps early on, above 0 later on; 0 is even.", low=-1.0, high=1.0),
        Option("speed", 1.0, "Above 1 is faster. Text of less than 10 letters has its own pace.", low=0.3, high=3.0),
        Option(
            "duration",
            0.0,
            "Seconds of each segment. 0: by the length of its text, at the pace of the reference.",
            low=0.0, high=75.0, step=0.1,
        ),
        Option(
            "version",
            AUTO,
            "Release that the model is, or was tuned from: they look alike. auto: by the name of its folder or file.",
            choices=(AUTO, *VERSIONS),
        ),
        Option(
            "edit_start",
            0.0,
            "To edit the reference: where the part begins that is said anew. The text is then all of its words.",
            low=0.0, high=MAX_REFERENCE_S,
        ),
        Option("edit_end", 0.0, "Where that part ends. 0: nothing is edited.", low=0.0, high=MAX_REFERENCE_S),
        Option("edit_seconds", 0.0, "How long that part becomes. 0: as long as it was.", low=0.0, high=30.0, step=0.1),
        Option(
            "language",
            AUTO,
            "What the text is in, such as German or de: numbers become words in English and Chinese only. "
            "auto: Chinese by its characters, else English.",
        ),
    ),
    max_text_size=500,
    measure_text=num_bytes,
    sample_rate=24000,
    recognise=_recognise,
    downloads=(_download("F5TTS_v1_Base"), _download("F5TTS_Base")),  # their names tell their versions
    reference_seconds=(0.5, MAX_REFERENCE_S),
    transcript="needed",
    extras=(
        Extra("pypinyin", "reading Chinese text"),
        Extra("rjieba", "finding the words of Chinese text as the publisher does; jieba does, too"),
    ),
)  # fmt: skip
