"""What is known of F5-TTS without loading it. Imports no torch."""

from __future__ import annotations

from pathlib import Path

from ..base import Manifest, Option
from .files import VERSIONS, find_weights

MAX_REFERENCE_S = 12.0
MAX_STEPS = 128
AUTO = "auto"


def _recognise(folder: Path) -> bool:
    return find_weights(folder) is not None


def num_bytes(text: str) -> int:
    """Length of a text as the model reckons with it."""
    return len(text.encode())


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
    ),
    max_text_size=500,
    measure_text=num_bytes,
    sample_rate=24000,
    recognise=_recognise,
    reference_seconds=(0.5, MAX_REFERENCE_S),
    extras=(
        ("pypinyin", "reads Chinese text"),
        ("rjieba", "finds the words of Chinese text as the publisher does; jieba does, too"),
    ),
)  # fmt: skip
