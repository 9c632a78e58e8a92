"""What is known of OmniVoice without loading it. Imports no torch."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from ..base import Download, Manifest, Option
from .duration import spoken_length
from .languages import LANGUAGES

MODEL_TYPE = "omnivoice"
SAMPLE_RATE = 24000
_CONFIG_BYTES = 1 << 20


def _recognise(folder: Path) -> bool:
    with suppress(OSError, ValueError), open(folder / "config.json", "rb") as file:
        config = json.loads(file.read(_CONFIG_BYTES))
        return isinstance(config, dict) and config.get("model_type") == MODEL_TYPE
    return False


MANIFEST = Manifest(
    id=MODEL_TYPE,
    name="OmniVoice",
    tasks=("tts", "clone", "design"),
    code_license="Apache-2.0",
    weights_license="CC-BY-NC-4.0",  # of the model; its codec is under the Boson Higgs Audio 2 Community License
    weights_source="Hugging Face, k2-fsa",
    languages=tuple(LANGUAGES),
    dtypes=("bf16", "fp16", "fp32"),
    voices=(),
    options=(
        Option(
            "language",
            "auto",
            "What the text is in: an English name or a tag, such as German or de. auto lets the model tell.",
        ),
        Option(
            "attributes",
            "",
            "Of the voice, between commas: gender, age, pitch, whisper, accent, Chinese dialect; the help lists them.",
        ),
        Option("speed", 1.0, "Pace: 0.5 is half as fast, 2 twice as fast.", low=0.25, high=4.0, step=0.05),
        Option(
            "seconds",
            0.0,
            "How long a segment takes, whatever its pace. 0: by its text.",
            low=0.0, high=600.0, step=0.1,
        ),
        Option("steps", 32, "More are slower and cleaner; 16 is fast.", low=1, high=128, step=1),
        Option(
            "guidance",
            2.0,
            "How closely text and voice are followed; 0 is faster and looser.",
            low=0.0, high=10.0, step=0.1,
        ),
        Option(
            "position_temperature",
            5.0,
            "Chance in the order in which the speech is filled in; 0 is always the same.",
            low=0.0, high=20.0, step=0.1,
        ),
        Option(
            "class_temperature",
            0.0,
            "Chance in the sounds themselves: 0 takes the likeliest, 1 is lively and may slip.",
            low=0.0, high=2.0, step=0.05,
        ),
        Option("t_shift", 0.1, "Below 1, the first steps decide less than the last.", low=0.01, high=1.0),
        Option(
            "layer_penalty",
            5.0,
            "How much later finer codes are decided than coarser ones.",
            low=0.0, high=20.0, step=0.1,
        ),
        Option("denoise", True, "Leave out the noise of a cloned recording."),
        Option("cut_silence", True, "Shorten pauses of more than half a second, and what is silent at both ends."),
        Option(
            "chunk_seconds",
            15.0,
            "A long segment is said in pieces of about this length.",
            low=1.0, high=60.0, step=0.5,
        ),
        Option(
            "chunk_from_seconds",
            30.0,
            "From what length on it is. Without a voice, the first piece becomes the voice of the others.",
            low=1.0, high=120.0, step=0.5,
        ),
    ),
    max_text_size=2400,  # some three minutes at the usual pace
    measure_text=spoken_length,
    reads_numbers=True,  # as its upstream lets it
    sample_rate=SAMPLE_RATE,
    recognise=_recognise,
    downloads=(Download("OmniVoice", "k2-fsa/OmniVoice", 3_700_000_000),),
    reference_seconds=(0.5, 60.0),
    transcript="helps",
)  # fmt: skip
