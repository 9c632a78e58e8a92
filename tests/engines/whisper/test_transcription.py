"""Whole recordings equal openai-whisper: tokens, texts, times, words, probabilities."""

import pytest
import torch
import whisper
from mizuoto.engines.transcript import Passage, Word
from mizuoto.engines.whisper.settings import Settings
from mizuoto.engines.whisper.transcription import transcribe
from mizuoto.tests.engines.whisper import upstream

LADDER = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def noise(seconds, seed):
    return torch.randn(int(seconds * 16000), generator=torch.Generator().manual_seed(seed)) * 0.1


def passages_of(result):
    """Upstream's segments as ours."""
    return tuple(
        Passage(
            segment["text"].strip(), segment["start"], segment["end"],
            tuple(
                Word(word["word"].strip(), word["start"], word["end"], word["probability"])
                for word in segment.get("words", ()) if word["word"].strip()
            ),
        )
        for segment in result["segments"] if segment["text"]
    )  # fmt: skip


def both(model, audio, settings, seed=0):
    """Our transcription and upstream's result over the same networks."""
    mel = whisper.log_mel_spectrogram(audio, padding=480000)
    found = transcribe(upstream.Model(model, seed), mel, len(audio) / 16000, settings)
    return found, upstream.transcribe(model, audio, settings, seed)


def assert_equal(found, result, model):
    assert found.passages == passages_of(result)
    windows = {segment["seek"]: segment for segment in result["segments"]}
    assert [
        (attempt.avg_logprob, attempt.no_speech_prob, attempt.temperature, attempt.compression_ratio)
        for attempt in found.attempts
    ] == [
        (s["avg_logprob"], s["no_speech_prob"], s["temperature"], s["compression_ratio"]) for s in windows.values()
    ]
    # Upstream keeps the finished segments' tokens only; these begin the attempt's.
    for attempt, seek in zip(found.attempts, windows, strict=True):
        kept = [token for s in result["segments"] if s["seek"] == seek for token in s["tokens"]]
        if all(s["tokens"] for s in result["segments"] if s["seek"] == seek):
            assert list(attempt.ids[: len(kept)]) == kept


CASES = {
    "greedy": {},
    "draws": {"temperatures": (0.6,)},
    "beams": {"temperatures": (0.0, 0.4), "beam_size": 3},
    "prompt": {"prompt": " Herr Müller, Frau Meier: a list of names  "},
    "long prompt": {"prompt": "many words " * 60},
    "fresh": {"condition_on_previous_text": False},
    "hot": {"temperatures": (0.8,), "compression_ratio_threshold": 9.0, "logprob_threshold": -9.0},
    "words": {"word_timestamps": True, "temperatures": (0.0, 0.4)},
    "translated": {"task": "translate", "language": "de"},
    "unspaced": {"language": "ja", "word_timestamps": True, "temperatures": (0.4,)},
    "silent": {"no_speech_threshold": 1e-6, "logprob_threshold": -0.4, "temperatures": (0.0, 0.5)},
    "invented": {"word_timestamps": True, "temperatures": (0.5,), "hallucination_silence_threshold": 1.0},
    "invented, greedy": {"word_timestamps": True, "temperatures": (0.0,), "hallucination_silence_threshold": 0.3},
}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", CASES)
def test_random_models_are_read_as_upstream_reads_them(name, seed):
    model = upstream.random_model(seed)
    settings = Settings(**{"language": "en", "temperatures": LADDER[:3], **CASES[name]})
    found, result = both(model, noise(48, seed), settings, seed)
    assert_equal(found, result, model)
