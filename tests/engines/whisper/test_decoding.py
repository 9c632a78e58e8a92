import types

import pytest
import torch
import whisper
from mizuoto.engines.whisper.decoding import Attempt, attempt_at, decode, has_failed, is_repetitive, is_silent
from mizuoto.engines.whisper.search import SingleSearch
from mizuoto.engines.whisper.settings import Settings
from mizuoto.tests.engines.whisper import upstream
from whisper.decoding import DecodingOptions, GreedyDecoder
from whisper.utils import compression_ratio

EOT = 3
ENGLISH = Settings("en")
GOOD = {"avg_logprob": -0.4, "no_speech_prob": 0.01}


def attempt(text="Good morning.", avg_logprob=-0.4, no_speech_prob=0.01):
    return Attempt((1,), text, avg_logprob, no_speech_prob, 0.0)


@pytest.mark.parametrize("temperature", [0.0, 0.2, 0.6, 1.0])
def test_a_row_and_its_draws_equal_upstream(temperature):
    generator, source = torch.Generator().manual_seed(9), torch.Generator().manual_seed(5)
    ours, theirs = SingleSearch(temperature, EOT, source), GreedyDecoder(temperature, EOT)
    rows, total, is_over = torch.zeros(1, 1, dtype=torch.long), torch.zeros(1), False
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)  # noqa: TID251 -- upstream draws from it
        for step in range(40):
            logits = torch.randn(1, 5000, generator=generator) * 2
            logits[0, EOT] = 100.0 if step == 39 else -torch.inf
            assert not is_over
            rows, over = theirs.update(rows, logits.clone(), total)
            is_over = ours.advance(logits)
            assert is_over == bool(over)
    assert is_over
    ((ids, sum_logprob),) = ours.candidates()
    assert list(ids) == rows[0, 1:-1].tolist()
    assert sum_logprob == total.item()


def test_draws_come_from_the_generator_alone():
    logits = torch.zeros(1, 1000)
    before = torch.random.get_rng_state()

    def ids(seed):
        search = SingleSearch(1.0, EOT, torch.Generator().manual_seed(seed))
        for _ in range(5):
            search.advance(logits)
        return search.candidates()[0].ids

    assert ids(1) == ids(1) != ids(2)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize(
    ("settings", "temperature"),
    [
        (Settings("en"), 0.0),
        (Settings("de", "translate"), 0.0),
        (Settings("ja"), 0.7),
        (Settings("en", beam_size=4), 0.0),
        (Settings("en", beam_size=4), 0.3),
    ],
)
@pytest.mark.parametrize("num_before", [0, 5, 100])
def test_attempts_equal_upstream(settings, temperature, num_before):
    theirs = upstream.random_model(2)
    model = upstream.Model(theirs, seed=4)
    mel = torch.randn(80, 3000, generator=torch.Generator().manual_seed(1))
    context = list(range(1000, 1000 + num_before))
    features = model.encode(mel[None])
    found = model.decoding(lambda: attempt_at(model, features, context, temperature, settings), settings.beam_size)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(4)  # noqa: TID251 -- upstream draws from it
        beam_size = settings.beam_size if temperature == 0 and settings.beam_size > 1 else None
        options = DecodingOptions(
            task=settings.task, language=settings.language, temperature=temperature, beam_size=beam_size,
            prompt=context, fp16=False,
        )  # fmt: skip
        expected = whisper.decode(theirs, mel, options)
    assert list(found.ids) == expected.tokens
    assert found.text == expected.text
    assert found.avg_logprob == expected.avg_logprob
    assert found.no_speech_prob == expected.no_speech_prob
    assert found.compression_ratio == expected.compression_ratio
    assert found.temperature == expected.temperature


def test_cancelling_is_possible_at_every_token():
    model = upstream.Model(upstream.random_model(2))
    features = model.encode(torch.zeros(1, 80, 3000))
    found = model.decoding(lambda: attempt_at(model, features, [], 0.0, ENGLISH))
    assert model.num_checks in (len(found.ids), len(found.ids) + 1)  # and the end of text

    def stop():
        model.num_checks += 1
        if model.num_checks == 3:
            raise KeyboardInterrupt

    model.num_checks, model.check_cancel = 0, stop
    with pytest.raises(KeyboardInterrupt):
        model.decoding(lambda: attempt_at(model, features, [], 0.0, ENGLISH))
    assert model.num_checks == 3


@pytest.mark.parametrize(
    ("values", "failed"),
    [
        (GOOD, False),
        ({"text": "no no " * 40}, True),
        ({"avg_logprob": -1.01}, True),
        ({"avg_logprob": -1.0}, False),
        ({"avg_logprob": -1.01, "no_speech_prob": 0.61}, False),  # silence
        ({"avg_logprob": -1.01, "no_speech_prob": 0.6}, True),
        ({"text": "no no " * 40, "no_speech_prob": 0.9}, True),  # it believes in what it says
    ],
)
def test_what_a_failure_is(values, failed):
    assert has_failed(attempt(**values), ENGLISH) == failed


@pytest.mark.parametrize(
    ("values", "silent"),
    [
        (GOOD, False),
        ({"no_speech_prob": 0.61}, False),
        ({"no_speech_prob": 0.61, "avg_logprob": -1.0}, True),
        ({"no_speech_prob": 0.6, "avg_logprob": -2.0}, False),
    ],
)
def test_what_silence_is(values, silent):
    assert is_silent(attempt(**values), ENGLISH) == silent


@pytest.mark.parametrize("text", ["", "Hm.", "ありがとうございました。" * 9, "a b c d e f g"])
def test_repetition_is_judged_as_upstream_judges_it(text):
    assert attempt(text).compression_ratio == compression_ratio(text)
    assert is_repetitive(attempt(text), ENGLISH) == (compression_ratio(text) > 2.4)


def test_attempts_stop_at_the_first_good_one(monkeypatch):
    outcomes = {0.0: attempt("no no " * 40), 0.2: attempt(avg_logprob=-3.0), 0.4: attempt(), 0.6: None}
    tried = []

    def fake(model, features, context, temperature, settings):
        tried.append(temperature)
        return outcomes[temperature]

    monkeypatch.setattr("mizuoto.engines.whisper.decoding.attempt_at", fake)
    settings = Settings("en", temperatures=(0.0, 0.2, 0.4, 0.6))
    assert decode(types.SimpleNamespace(), torch.zeros(1), [], settings) is outcomes[0.4]
    assert tried == [0.0, 0.2, 0.4]
    settings = Settings("en", temperatures=(0.0, 0.2))
    assert decode(types.SimpleNamespace(), torch.zeros(1), [], settings) is outcomes[0.2]
