"""The judges can tell good from bad: on real recordings, on wrong texts, and on texts made by hand."""

import wave
from pathlib import Path

import numpy as np
import pytest
from mizuoto.tests import judges

SPEECH = Path(__file__).parent / "data" / "speech"
CLIPS = {
    "austen-0870": "and mister john dashwood had then leisure to consider how much there might be prudently in his "
    "power to do for them",
    "austen-0880": "he was not an ill disposed young man",
    "austen-0920": "had he married a more a amiable woman he might have been made still more respectable than he was",
}


def clip(name):
    with wave.open(str(SPEECH / f"{name}.wav")) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2") / 32768.0
        return samples, file.getframerate()


@pytest.fixture(scope="module")
def heard():
    return {name: judges.transcribe(*clip(name)) for name in CLIPS}


@pytest.mark.parametrize(("name", "bar"), [("austen-0870", 0.05), ("austen-0880", 0.25), ("austen-0920", 0.06)])
def test_real_speech_is_understood(heard, name, bar):
    assert judges.word_error_rate(CLIPS[name], heard[name]) <= bar


def test_another_text_is_told_apart(heard):
    assert judges.word_error_rate(CLIPS["austen-0920"], heard["austen-0870"]) > 0.7


def test_noise_and_silence_are_no_speech():
    noise = np.random.default_rng(0).normal(0.0, 0.1, 32000)
    for sound in (noise, np.zeros(32000)):
        assert judges.word_error_rate(judges.SENTENCES[0], judges.transcribe(sound, 16000)) >= 0.9


def test_shape_and_sample_rate_do_not_matter(heard):
    samples, sample_rate = clip("austen-0920")
    stretched = np.interp(np.arange(0, len(samples), 2 / 3), np.arange(len(samples)), samples)
    stereo = np.stack([stretched, stretched])[None]
    assert judges.word_error_rate(heard["austen-0920"], judges.transcribe(stereo, sample_rate * 3 // 2)) <= 0.06
    with pytest.raises(ValueError):
        judges.transcribe(np.zeros((2, 1, 100)), 16000)


@pytest.mark.parametrize(
    ("reference", "heard", "rate"),
    [
        ("one two three four", "one two three four", 0.0),
        ("one two three four", "", 1.0),
        ("one two three four", "one too three four", 0.25),
        ("one two three four", "one three four", 0.25),
        ("one two three four", "one two three four five", 0.25),
        ("one two", "one two three four five six", 2.0),
        ("one two three four", "four three two one", 1.0),
        ("Before nine o'clock.", "before 9 o\u2019clock", 0.0),
        ("nine o'clock", "9:00", 0.0),
        ("near the river bank", "near the riverbank", 0.0),
        ("near the riverbank", "near the river bank", 0.0),
        ("near the river bank", "near the river", 0.25),
        ("Mr. Smith", "mister smith", 0.0),
        ("twenty-one", "21", 0.0),
        ("It costs $5, or 3.5 %", "it costs five dollars or three point five percent", 0.0),
        ("1,250 people", "one thousand two hundred fifty people", 0.0),
    ],
)
def test_word_error_rate(reference, heard, rate):
    assert judges.word_error_rate(reference, heard) == rate


def test_a_reference_without_words_is_refused():
    with pytest.raises(ValueError, match="no word"):
        judges.word_error_rate("...", "something")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "zero"),
        (13, "thirteen"),
        (80, "eighty"),
        (305, "three hundred five"),
        (1999, "one thousand nine hundred ninety nine"),
        (2_000_010, "two million ten"),
        (10**9, "one zero zero zero zero zero zero zero zero zero"),
    ],
)
def test_number_words(number, words):
    assert judges.number_words(number) == words
