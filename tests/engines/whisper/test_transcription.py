"""Whole recordings equal openai-whisper: tokens, texts, times, words, probabilities."""

import dataclasses

import pytest
import torch
import whisper
from mizuoto.engines.transcript import Passage, Word
from mizuoto.engines.whisper.engine import Request
from mizuoto.engines.whisper.features import log_mel
from mizuoto.engines.whisper.settings import Settings
from mizuoto.engines.whisper.transcription import transcribe
from mizuoto.tests.engines.whisper import oracle, upstream
from mizuoto.tests.engines.whisper.clips import WORDS, read
from mizuoto.tests.engines.whisper.conftest import REAL
from mizuoto.tests.judges import normalize

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


def assert_equal(found, result):
    assert found.passages == passages_of(result)
    windows = {segment["seek"]: segment for segment in result["segments"]}
    assert [
        (attempt.avg_logprob, attempt.no_speech_prob, attempt.temperature, attempt.compression_ratio)
        for attempt in found.attempts
    ] == [(s["avg_logprob"], s["no_speech_prob"], s["temperature"], s["compression_ratio"]) for s in windows.values()]
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
    "silent": {"no_speech_threshold": 1e-10, "logprob_threshold": -0.4, "temperatures": (0.0, 0.5)},
    "invented": {"word_timestamps": True, "temperatures": (0.5,), "hallucination_silence_threshold": 1.0},
    "invented, greedy": {"word_timestamps": True, "temperatures": (0.0,), "hallucination_silence_threshold": 0.3},
}


SEEDS = {"greedy": 1, "silent": 0, "beams": 2, "invented": 2}  # models for which something happens


@pytest.mark.parametrize("name", CASES)
def test_random_models_are_read_as_upstream_reads_them(name):
    seed = SEEDS.get(name, 3)
    settings = Settings(**{"language": "en", "temperatures": LADDER[:3], **CASES[name]})
    found, result = both(upstream.random_model(seed), noise(36, seed), settings, seed)
    assert_equal(found, result)


FIRST, SECOND, THIRD = WORDS


@pytest.fixture(scope="module")
def networks():
    """Whisper tiny.en in openai-whisper's networks."""
    return upstream.remembering(oracle.openai(REAL))


@pytest.fixture
def hear(real, runtime):
    """What our own networks and decoding hear in samples."""

    def transcription(audio, settings, seed=0):
        seconds = len(audio) / 16000
        with torch.inference_mode():
            return transcribe(Request(real, runtime.context(seed), seconds), log_mel(audio, 80), seconds, settings)

    return transcription


def joined(names, pause_s):
    """(samples, what is said) of clips with pauses behind them."""
    pause = torch.zeros(int(pause_s * 16000))
    return torch.cat([part for name in names for part in (read(name), pause)]), " ".join(WORDS[name] for name in names)


def words_of(passages):
    """Texts and times of all words, and their probabilities."""
    words = [word for passage in passages for word in passage.words]
    return [(word.text, word.start, word.end) for word in words], [word.probability for word in words]


def test_real_speech_of_several_windows_equals_upstream(networks, hear):
    audio, _ = joined([FIRST, SECOND, THIRD, SECOND, FIRST], 7.0)  # 61 s, of which 26 s are speech
    settings = Settings("en", prompt="Pride and Prejudice, by Jane Austen.", word_timestamps=True)
    found, result = hear(audio, settings), upstream.transcribe(networks, audio, settings)
    expected = passages_of(result)
    words, probabilities = words_of(found.passages)
    expected_words, expected_probabilities = words_of(expected)
    assert words == expected_words
    # Aligning, upstream goes without the fused attention: the last bits differ.
    assert probabilities == pytest.approx(expected_probabilities, abs=1e-3)
    assert without_words(found.passages) == without_words(expected)
    assert_equal(dataclasses.replace(found, passages=expected), result)
    assert len({segment["seek"] for segment in result["segments"]}) == 2


def without_words(passages):
    return [dataclasses.replace(passage, words=()) for passage in passages]


def test_draws_over_real_speech_equal_upstream(networks, hear):
    audio, settings = read(SECOND), Settings("en", temperatures=(0.6,))
    assert_equal(hear(audio, settings, seed=3), upstream.transcribe(networks, audio, settings, seed=3))


def test_beams_over_real_speech_equal_upstream(networks, hear):
    audio, settings = read(SECOND), Settings("en", temperatures=(0.0,), beam_size=5)
    found, result = hear(audio, settings), upstream.transcribe(networks, audio, settings)
    (attempt,), (segment,) = found.attempts, result["segments"]
    assert list(attempt.ids) == segment["tokens"]
    assert found.passages == passages_of(result)
    # Our beams share one attention over the window: the last bits differ.
    assert attempt.avg_logprob == pytest.approx(segment["avg_logprob"], abs=1e-5)


def test_no_word_is_lost_or_doubled_at_seams(hear):
    audio, said = joined([FIRST, THIRD, SECOND] * 7, 0.5)  # 2 minutes: every window begins at other words
    found = hear(audio, Settings("en"))
    assert len(found.attempts) >= 5
    # The reader stammers, which is written as it was meant.
    written = said.replace("a more a amiable", "a more amiable")
    assert normalize(" ".join(passage.text for passage in found.passages)) == normalize(written)
    times = [round(time, 2) for passage in found.passages for time in (passage.start, passage.end)]
    assert times == sorted(times)
    assert found.looped == ()


def test_what_repeats_itself_at_every_temperature_is_kept_and_reported():
    found, result = both(upstream.random_model(2), noise(36, 2), Settings("en", temperatures=(0.0, 0.2)), 2)
    repetitive = {s["seek"] / 100 for s in result["segments"] if s["compression_ratio"] > 2.4}
    assert {start for start, _ in found.looped} == repetitive != set()
    assert all(end - start <= 30.0 and end <= 36.0 for start, end in found.looped)
    assert_equal(found, result)


class Scripted(upstream.Model):
    """Writes given tokens, whatever it hears."""

    def __init__(self, *ids):
        super().__init__(upstream.random_model(0))
        self.ids = (*ids, self.tokens.eot)

    def start(self, features, rows=1):
        place = iter(range(len(self.ids)))

        class State:
            def logits(_, tokens):  # noqa: N805 -- self is the model's
                logits = torch.zeros(1, tokens.shape[1], 51865)
                logits[0, -1, self.ids[next(place)]] = 50.0
                return logits

        return State()


def test_a_window_that_leads_nowhere_is_left_behind(monkeypatch):
    """Upstream hears it again for ever."""
    model = Scripted()
    begin = model.tokens.timestamp_begin
    model.ids = (begin, 1000, begin + 3, begin + 3, model.tokens.eot)
    monkeypatch.setattr("mizuoto.engines.whisper.segments.FRAMES_PER_STEP", 0)
    found = transcribe(model, torch.zeros(80, 5000), 50.0, Settings("en"))
    assert [passage.start for passage in found.passages] == [0.0, 30.0]
    assert model.heard == [30.0, 50.0]


def test_a_window_begins_where_the_last_finished_segment_ends():
    model = Scripted()
    begin = model.tokens.timestamp_begin
    model.ids = (begin, 1000, begin + 1000, begin + 1000, 1001, model.tokens.eot)
    found = transcribe(model, torch.zeros(80, 5000), 50.0, Settings("en", condition_on_previous_text=False))
    assert [(passage.start, passage.end) for passage in found.passages] == [(0, 20), (20, 40), (40, 60)]
    assert model.heard == [20.0, 40.0, 50.0]


def test_silence_is_left_out():
    class Silent(Scripted):
        def start(self, features, rows=1):
            state = super().start(features, rows)

            class Quiet:
                def logits(_, tokens):  # noqa: N805 -- self is the model's
                    logits = state.logits(tokens)
                    logits[0, 0, self.tokens.no_speech] = 60.0
                    return logits

            return Quiet()

    model = Silent()
    begin = model.tokens.timestamp_begin
    model.ids = (begin, 1000, begin + 1000, model.tokens.eot)
    silent = Settings("en", logprob_threshold=0.0)
    assert transcribe(model, torch.zeros(80, 5000), 50.0, silent).passages == ()
    assert model.heard == [30.0, 50.0]
    assert len(transcribe(model, torch.zeros(80, 5000), 50.0, Settings("en")).passages) == 2  # it is sure of its words


@pytest.mark.parametrize("num_samples", [1, 159, 160, 16001])
def test_short_recordings(num_samples):
    audio = noise(num_samples / 16000, 0)
    settings = Settings("en", temperatures=(0.0,))
    found, result = both(upstream.random_model(0), audio, settings)
    assert_equal(found, result)
    assert bool(found.passages) == (num_samples >= 160)
