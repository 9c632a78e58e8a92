"""What is known of Kokoro without loading it. Imports no torch."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from ..base import Download, Manifest, Option
from .languages.table import AUTO, LANGUAGES, optional_packages

WEIGHTS = ("*.pth", "*.safetensors")
VOICES = "voices"  # the folder beside the weights
MIN_SPEED, MAX_SPEED = 0.5, 2.0
_CONFIG_BYTES = 1 << 20


def _recognise(folder: Path) -> bool:
    with suppress(OSError, ValueError), open(folder / "config.json", "rb") as file:
        config = json.loads(file.read(_CONFIG_BYTES))
        return isinstance(config, dict) and {"istftnet", "plbert"} <= config.keys()
    return False


def _spoken_length(text: str) -> int:
    """Characters as they sound: a digit is a word of about five letters, a sign one of about seven.

    A Han character, a kana or a Hangul syllable takes as many phonemes as four Latin letters.
    """
    digits = sum(character.isdigit() for character in text)
    signs = sum(not character.isalnum() and not character.isspace() for character in text)
    wide = sum(character >= "\u2e80" for character in text)
    return len(text) + 4 * digits + signs + 3 * wide


MANIFEST = Manifest(
    id="kokoro",
    name="Kokoro",
    tasks=("tts",),
    code_license="Apache-2.0",
    weights_license="Apache-2.0",
    weights_source="Hugging Face, hexgrad/Kokoro-82M",
    languages=tuple(dict.fromkeys(language.tag for language in LANGUAGES)),
    dtypes=("fp32",),
    voices=(
        "af_heart", "af_alloy", "af_aoede", "af_bella", "af_jessica", "af_kore", "af_nicole", "af_nova", "af_river",
        "af_sarah", "af_sky", "am_adam", "am_echo", "am_eric", "am_fenrir", "am_liam", "am_michael", "am_onyx",
        "am_puck", "am_santa", "bf_alice", "bf_emma", "bf_isabella", "bf_lily", "bm_daniel", "bm_fable", "bm_george",
        "bm_lewis", "ef_dora", "em_alex", "em_santa", "ff_siwis", "hf_alpha", "hf_beta", "hm_omega", "hm_psi",
        "if_sara", "im_nicola", "jf_alpha", "jf_gongitsune", "jf_nezumi", "jf_tebukuro", "jm_kumo", "pf_dora",
        "pm_alex", "pm_santa", "zf_xiaobei", "zf_xiaoni", "zf_xiaoxiao", "zf_xiaoyi", "zm_yunjian", "zm_yunxi",
        "zm_yunxia", "zm_yunyang",
    ),
    options=(
        Option(
            "speed",
            1.0,
            "Pace: 0.5 is half as fast, 2 twice as fast. The pitch stays.",
            low=MIN_SPEED, high=MAX_SPEED, step=0.05,
        ),
        Option(
            "mix",
            "",
            "Speak with a mixture instead of the connected voice: af_heart+am_michael, or af_heart:0.7+am_michael:0.3.",
        ),
        Option(
            "language",
            AUTO,
            "How the text is read. auto: in the voice's own language, which the first letter of its name tells.",
            choices=(AUTO, *(language.name for language in LANGUAGES)),
        ),
    ),
    max_text_size=200,  # about 13 s: longer ones are rushed, and take a CPU more time a second
    measure_text=_spoken_length,
    reads_numbers=True,
    mixes_voices=True,
    downloads=(Download("Kokoro-82M", "hexgrad/Kokoro-82M", 355_000_000, (".pth", ".pt")),),
    sample_rate=24000,
    recognise=_recognise,
    extras=optional_packages(),
)  # fmt: skip
