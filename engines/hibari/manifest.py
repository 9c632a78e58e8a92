"""What is known of hibari without loading it. Imports no torch."""

from __future__ import annotations

from pathlib import Path

from ..base import Manifest, Option
from .config import MAX_SPEED, MIN_SPEED, CodecConfig

ASSETS = Path(__file__).parent / "assets"
CHECKPOINTS = "hibari_*.safetensors"


def _recognise(folder: Path) -> bool:
    return any(folder.glob(CHECKPOINTS))


def _spoken_length(text: str) -> int:
    """Characters as they sound: a digit is a word of about five letters, a sign one of about seven."""
    digits = sum(character.isdigit() for character in text)
    signs = sum(not character.isalnum() and not character.isspace() for character in text)
    return len(text) + 4 * digits + signs


MANIFEST = Manifest(
    id="hibari",
    name="hibari",
    tasks=("tts",),
    code_license="Apache-2.0",
    weights_license="Apache-2.0",
    weights_source="ships with the pack",
    languages=("en-US",),
    dtypes=("fp32",),
    voices=("heart",),
    options=(
        Option(
            "speed",
            default=1.0,
            low=MIN_SPEED,
            high=MAX_SPEED,
            step=0.05,
            tooltip="Pace: 0.5 is half as fast, 2 twice as fast. The pitch stays.",
        ),
    ),
    max_text_size=300,  # about 400 phonemes, the longest that the voice was trained on
    measure_text=_spoken_length,
    sample_rate=CodecConfig().sample_rate,
    recognise=_recognise,
    reads_numbers=True,
    built_in=ASSETS,
)
