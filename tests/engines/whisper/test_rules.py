import types

import pytest
import torch
from mizuoto.engines.whisper.rules import MAX_FIRST_TIME, TokenRules
from mizuoto.tests.engines.whisper import upstream
from whisper.decoding import ApplyTimestampRules, SuppressBlank, SuppressTokens

SIGN, EOT, NO_TIMES, TIMES = 4, 5, 6, 7
TOKENS = types.SimpleNamespace(eot=EOT, non_speech=(SIGN,), no_timestamps=NO_TIMES, timestamp_begin=TIMES)
SIZE = TIMES + 101
TEXT = [0, 1, 2, 3]


def allowed(row, logits=None):
    """What may follow a row; text is likelier than times unless `logits` say otherwise."""
    if logits is None:
        logits = torch.zeros(SIZE)
        logits[:TIMES] = 20
    logits = logits[None].clone()
    TokenRules(TOKENS, SIZE, upstream.CPU).apply(logits, [row])
    return (logits[0] > -torch.inf).nonzero().flatten().tolist()


def test_a_text_begins_with_a_time_of_the_first_second():
    assert allowed(()) == list(range(TIMES, TIMES + MAX_FIRST_TIME + 1))


def test_what_nobody_says_never_comes():
    assert {SIGN, NO_TIMES}.isdisjoint(allowed((TIMES,)) + allowed((TIMES, 0)))


def test_after_an_opening_time_comes_text():
    assert allowed((TIMES + 4,)) == [*TEXT, EOT]
    assert allowed((TIMES, 0, TIMES + 3, TIMES + 4)) == [*TEXT, EOT]


def test_after_text_comes_text_or_a_later_time():
    assert allowed((TIMES + 4, 0)) == [*TEXT, EOT, *range(TIMES + 5, SIZE)]


def test_after_a_closing_time_comes_the_same_time_a_later_one_or_the_end():
    assert allowed((TIMES, 0, TIMES + 4)) == [EOT, *range(TIMES + 4, SIZE)]


def test_times_that_are_likelier_together_than_any_text_leave_no_text():
    logits = torch.zeros(SIZE)
    logits[0] = 4.0  # 100 times of 0 weigh exp(4.6)
    assert allowed((TIMES, 1), logits) == list(range(TIMES + 1, SIZE))
    logits[0] = 5.0
    assert 0 in allowed((TIMES, 1), logits)


def test_rows_are_ruled_apart():
    logits = torch.zeros(2, SIZE)
    logits[:, :TIMES] = 20
    TokenRules(TOKENS, SIZE, upstream.CPU).apply(logits, [(TIMES, 0), (TIMES, TIMES + 1)])
    assert (logits[:, TIMES + 1] > -torch.inf).tolist() == [True, False]


@pytest.fixture(scope="module")
def model():
    return upstream.Model(upstream.random_model(0))


def rows_of(generator, begin, length):
    """Rows as a model might write them: texts and times, in any order."""
    texts = torch.randint(0, 50000, (3, length), generator=generator)
    times = torch.randint(0, 1500, (3, length), generator=generator).sort().values + begin
    is_time = torch.rand(3, length, generator=generator) < 0.5
    return torch.where(is_time, times, texts)


@pytest.mark.parametrize("length", range(5))
def test_rules_equal_upstream(model, length):
    tokens = model.tokens
    tokenizer = tokens.tokenizer("en", "transcribe")
    theirs = (SuppressBlank(tokenizer, 4), SuppressTokens(tokens.non_speech), ApplyTimestampRules(tokenizer, 4, 50))
    generator = torch.Generator().manual_seed(length)
    for _ in range(5):
        rows = rows_of(generator, tokens.timestamp_begin, length)
        logits = torch.randn(3, 51865, generator=generator) * 3
        logits[:, tokens.timestamp_begin :] -= 1.5
        found = logits.clone()
        TokenRules(tokens, 51865, upstream.CPU).apply(found, [tuple(row) for row in rows.tolist()])
        whole = torch.cat([torch.zeros(3, 4, dtype=torch.long), rows], 1)
        for rule in theirs:
            rule.apply(logits, whole)
        assert torch.equal(found, logits)
