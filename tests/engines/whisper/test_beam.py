import pytest
import torch
from mizuoto.engines.whisper.beam import BeamSearch
from whisper.decoding import BeamSearchDecoder

EOT, SIZE = 3, 40


class Cache:
    """Stands for both decoders' pasts and notes how they are reordered."""

    def __init__(self):
        self.orders = []

    def rearrange_kv_cache(self, rows):
        self.orders.append(list(rows))


def tables(seed, steps, beam_size, end):
    """Logits of each step; those of the first are the same in every row, as the rows are."""
    generator = torch.Generator().manual_seed(seed)
    for step in range(steps):
        logits = torch.randn(beam_size, SIZE, generator=generator) * 2
        logits[:, EOT] += end
        if seed % 2:
            logits.round_()  # many ties
        if step == 0:
            logits[:] = logits[0]
            logits[:, EOT] = -torch.inf
        yield logits


@pytest.mark.parametrize("end", [0.0, 2.0, -20.0])
@pytest.mark.parametrize("beam_size", [2, 5])
@pytest.mark.parametrize("seed", range(6))
def test_search_equals_upstream(seed, beam_size, end):
    cache, ours_cache = Cache(), Cache()
    theirs = BeamSearchDecoder(beam_size, EOT, cache)
    ours = BeamSearch(beam_size, EOT, ours_cache.rearrange_kv_cache)
    rows, sums = torch.zeros(beam_size, 1, dtype=torch.long), torch.zeros(beam_size)
    for logits in tables(seed, 8, beam_size, end):
        rows, is_over = theirs.update(rows, logits, sums)
        assert ours.advance(logits) == is_over
        assert [list(row) for row in ours.rows] == rows[:, 1:].tolist()
        if is_over:
            break
    texts, scores = theirs.finalize(rows[None], sums[None])
    assert cache.orders == ours_cache.orders
    assert [(list(found.ids), found.sum_logprob) for found in ours.candidates()] == [
        (text[1:-1].tolist(), score) for text, score in zip(texts[0], scores[0], strict=True)
    ]


def test_the_search_is_over_when_as_many_as_rows_have_ended():
    search = BeamSearch(2, EOT, lambda rows: None)
    start = torch.full((2, SIZE), -50.0)
    start[:, 5], start[:, 6] = 1.0, 0.5
    assert not search.advance(start)
    assert search.rows == [(5,), (6,)]
    end = torch.full((2, SIZE), -50.0)
    end[:, EOT] = 0.0
    assert search.advance(end)
    assert [found.ids for found in search.candidates()] == [(5,), (6,)]


def test_each_row_continues_the_past_it_came_from():
    orders = []
    search = BeamSearch(2, EOT, orders.append)
    logits = torch.full((2, SIZE), -50.0)
    logits[:, 5], logits[:, 6] = 2.0, 1.0
    search.advance(logits)
    logits = torch.full((2, SIZE), -50.0)
    logits[1, 7], logits[1, 8] = 5.0, 4.9  # only the second row has good continuations
    logits[0] = 0.0
    search.advance(logits)
    assert orders[-1] == [1, 1]
    assert search.rows == [(6, 7), (6, 8)]
