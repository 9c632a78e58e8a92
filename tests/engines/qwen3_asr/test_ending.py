import pytest
from mizuoto.engines.qwen3_asr.ending import (
    LOOP_REPEATS,
    MAX_LOOP_PERIOD,
    MAX_TOKENS,
    loop_period,
    token_budget,
    usual_tokens,
)


def test_budgets():
    assert token_budget(3600.0) == MAX_TOKENS
    assert token_budget(0.05) < token_budget(30.0) < token_budget(300.0)
    assert token_budget(30.0, 7) == 7
    assert token_budget(3.0) > 3 * usual_tokens(3.0, 10_000)
    assert usual_tokens(0.01, 512) == 1
    assert usual_tokens(100.0, 3) == 3


@pytest.mark.parametrize("period", [1, 2, 7, MAX_LOOP_PERIOD])
def test_loops(period):
    phrase = list(range(period))
    before = [100, 101, 102]
    assert loop_period(before + phrase * LOOP_REPEATS) == period
    assert loop_period(before + phrase * LOOP_REPEATS + [100]) == 0
    assert loop_period((before + phrase * LOOP_REPEATS)[:-1]) == 0


def test_no_loops():
    assert loop_period([]) == 0
    assert loop_period(list(range(1000))) == 0
    assert loop_period(list(range(MAX_LOOP_PERIOD + 1)) * LOOP_REPEATS) == 0
