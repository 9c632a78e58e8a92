import pytest
from mizuoto.engines.qwen3_tts.ending import (
    BUDGET,
    EOS,
    KEPT_LOOP_FRAMES,
    LOOP,
    LOOP_FRAMES,
    MAX_FRAMES,
    frame_budget,
    is_looping,
    usual_frames,
)
from mizuoto.engines.qwen3_tts.generation import Row, note
from mizuoto.mizuoto_runtime.text.bpe import ByteBpe

END = 99


@pytest.mark.parametrize("text", ["1次", "2", "a", "Hi"])
def test_very_short_texts_get_little(checkpoint, text):  # P29
    tokens = len(ByteBpe.from_folder(checkpoint("base")).encode(text))
    assert frame_budget(tokens) / 12.5 <= 7.2  # seconds; the tiny vocabulary takes four tokens for two characters


def test_budgets_grow_with_the_text_up_to_the_publishers_limit():
    budgets = [frame_budget(tokens) for tokens in (1, 2, 10, 100, 1000)]
    assert budgets == [41, 57, 185, 1625, MAX_FRAMES]


@pytest.mark.parametrize(("seconds", "frames"), [(0.01, 1), (0.1, 1), (2.0, 25), (300.0, 3750), (9999.0, MAX_FRAMES)])
def test_the_users_limit_counts_whatever_the_text(seconds, frames):  # P30
    assert frame_budget(1, seconds) == frame_budget(500, seconds) == frames


@pytest.mark.parametrize(("tokens", "budget", "frames"), [(1, 1000, 29), (100, 1000, 425), (100, 30, 30)])
def test_what_a_take_usually_needs_is_never_more_than_its_budget(tokens, budget, frames):
    assert usual_frames(tokens, budget) == frames


@pytest.mark.parametrize("period", [1, 2, 3, 8])
def test_loops_of_every_period_are_seen(period):
    codes = [index % period for index in range(LOOP_FRAMES)]
    assert is_looping(codes)
    assert is_looping([50, 60, 70, *codes])
    assert not is_looping(codes[1:])


@pytest.mark.parametrize("place", [0, 20, LOOP_FRAMES - 1])
def test_one_other_code_is_no_loop(place):
    codes = [7] * LOOP_FRAMES
    codes[place] = 8
    assert not is_looping(codes)


def test_longer_periods_are_no_loops():
    assert not is_looping([index % 9 for index in range(LOOP_FRAMES)])


def run(row, codes, stops_loops=True):
    """Frames after which the row is over; None if it is not."""
    for index, code in enumerate(codes):
        if note([row], [code], END, stops_loops) == [True]:
            return index
    return None


def test_the_end_is_the_models():
    row = Row(budget=5)
    assert run(row, [1, 2, END]) == 2
    assert (row.ending, row.firsts) == (EOS, [1, 2])


def test_an_end_right_after_the_last_frame_of_the_budget_is_one():
    row = Row(budget=2)
    assert run(row, [1, 2, END]) == 2
    assert (row.ending, len(row.firsts)) == (EOS, 2)


def test_the_budget_is_what_is_kept():
    row = Row(budget=2)
    assert run(row, [1, 2, 3, 4]) == 2
    assert (row.ending, row.firsts) == (BUDGET, [1, 2])


def test_a_loop_is_cut_to_its_beginning():
    row = Row(budget=500)
    spoken = list(range(10, 30))
    assert run(row, spoken + [7] * 100) == len(spoken) + LOOP_FRAMES - 1
    assert row.ending == LOOP
    assert row.firsts[: len(spoken)] == spoken
    assert row.firsts[len(spoken) :] == [7] * KEPT_LOOP_FRAMES


def test_a_loop_from_the_start_leaves_something():
    row = Row(budget=500)
    assert run(row, [7] * 100) == LOOP_FRAMES - 1
    assert row.firsts == [7] * KEPT_LOOP_FRAMES


def test_loops_may_go_on():
    row = Row(budget=80)
    assert run(row, [7] * 100, stops_loops=False) == 80
    assert row.ending == BUDGET


def test_rows_end_on_their_own():
    rows = [Row(budget=3), Row(budget=9)]
    assert note(rows, [1, 2], END, True) == [False, False]
    assert note(rows, [END, 3], END, True) == [True, False]
    assert note(rows, [5, 4], END, True) == [True, False]
    assert [row.firsts for row in rows] == [[1], [2, 3, 4]]
