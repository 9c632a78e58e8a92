"""What a request asks of the decoding of speech. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TRANSCRIBE, TRANSLATE = "transcribe", "translate"
FALLBACK_STEP = 0.2  # between the temperatures of the ladder, which ends at 1


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that decides what is written for given audio, besides the model and the draws.

    Attributes:
        language: Whisper's own code, such as "en" or "jw"; always known by now.
        task: "transcribe", or "translate" into English.
        temperatures: The first for every window; the later ones, rising, each after a failed attempt.
        beam_size: Of beam search at temperature 0; 1 is greedy.
        prompt: Words put before the first window; may be empty.
        word_timestamps: Whether passages get their words with times.
        condition_on_previous_text: Whether a window reads what was written before it.
        no_speech_threshold: A window is silent above this probability of no speech, if also too improbable.
        logprob_threshold: Mean log probability of a token below which an attempt failed.
        compression_ratio_threshold: zlib ratio of the text above which an attempt failed.
        hallucination_silence_threshold: With timed words, a silence longer than so many seconds beside words that
            look invented is skipped and they are left out; None never does so.

    Source: the arguments and defaults of `transcribe`, openai-whisper 20250625.
    """

    language: str
    task: str = TRANSCRIBE
    temperatures: tuple[float, ...] = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    beam_size: int = 1
    prompt: str = ""
    word_timestamps: bool = False
    condition_on_previous_text: bool = True
    no_speech_threshold: float = 0.6
    logprob_threshold: float = -1.0
    compression_ratio_threshold: float = 2.4
    hallucination_silence_threshold: float | None = None


def settings_of(options: Mapping[str, Any], language: str) -> Settings:
    """The settings that the engine's options stand for."""
    return Settings(
        language=language,
        task=options["task"],
        temperatures=temperatures(options["temperature"], options["temperature_fallback"]),
        beam_size=options["beam_size"],
        prompt=options["prompt"].strip(),
        word_timestamps=options["word_timestamps"],
        condition_on_previous_text=options["condition_on_previous_text"],
        no_speech_threshold=options["no_speech_threshold"],
        logprob_threshold=options["logprob_threshold"],
        compression_ratio_threshold=options["compression_ratio_threshold"],
        hallucination_silence_threshold=options["hallucination_silence_threshold"] or None,
    )


def temperatures(first: float, has_fallback: bool) -> tuple[float, ...]:
    """`first`, and with a fallback the steps of 0.2 from there up to 1.

    Source: `cli`, openai-whisper 20250625 transcribe.py.
    """
    count = int((1.0 - first) / FALLBACK_STEP + 1e-6) if has_fallback else 0
    return (first, *(round(first + FALLBACK_STEP * step, 6) for step in range(1, count + 1)))
