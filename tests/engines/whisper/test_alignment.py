import numpy as np
import pytest
import torch
from mizuoto.engines.whisper.alignment import align, median_filter, warp
from mizuoto.engines.whisper.segments import Window
from mizuoto.engines.whisper.settings import Settings
from mizuoto.tests.engines.whisper import upstream
from whisper import timing


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (20, 3), (12, 200), (60, 400)])
@pytest.mark.parametrize("kind", ["any", "ties", "zeros", "nan", "inf"])
def test_the_path_equals_upstream(shape, kind):
    costs = np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32).astype(np.float64)
    if kind == "ties":
        costs = costs.round()
    if kind == "zeros":
        costs[:] = 0
    if kind in ("nan", "inf"):
        costs[shape[0] // 2, ::3] = float(kind)
    for found, expected in zip(warp(costs), timing.dtw_cpu(costs), strict=True):
        assert np.array_equal(found, expected)


def test_a_path_without_columns_equals_upstream():
    for found, expected in zip(warp(np.zeros((4, 0))), timing.dtw_cpu(np.zeros((4, 0))), strict=True):
        assert np.array_equal(found, expected)


def test_the_path_follows_the_cheap_cells():
    costs = np.ones((3, 5))
    costs[0, :2] = costs[1, 2] = costs[2, 3:] = -1
    rows, columns = warp(costs)
    assert rows.tolist() == [0, 0, 1, 2, 2]
    assert columns.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("length", [1, 3, 4, 5, 7, 300])
def test_the_median_equals_upstream(length):
    values = torch.randn(2, 5, length, generator=torch.Generator().manual_seed(length))
    assert torch.equal(median_filter(values, 7), timing.median_filter(values, 7))


@pytest.mark.parametrize(("is_multilingual", "language"), [(True, "de"), (True, "ja"), (False, "en")])
@pytest.mark.parametrize("size", [3000, 777, 40])
def test_words_equal_upstream(is_multilingual, language, size):
    theirs = upstream.random_model(3, is_multilingual)
    model = upstream.Model(theirs)
    mel = torch.randn(80, 3000, generator=torch.Generator().manual_seed(1))
    ids = model.tokens.encode(' "Guten Morgen, ihr Lieben!" Naïve 東京へ。')
    expected = timing.find_alignment(theirs, model.tokens.tokenizer(language, "transcribe"), ids, mel, size)
    found = align(model, model.encode(mel[None]), ids, Window(0, size), Settings(language))
    assert len(found) > 5
    assert [(word.text, word.ids, word.start, word.end, word.probability) for word in found] == [
        (word.word, word.tokens, word.start, word.end, word.probability) for word in expected
    ]


def test_no_text_has_no_words():
    assert align(upstream.Model(upstream.random_model(3)), torch.zeros(1), [], Window(0, 3000), Settings("en")) == []
