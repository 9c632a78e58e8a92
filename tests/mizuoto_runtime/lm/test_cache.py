import pytest
import torch
from mizuoto.mizuoto_runtime.lm.cache import GrowingCache, PaddedCache, WholeSequence
from mizuoto.mizuoto_runtime.lm.rope import Rope

CPU = torch.device("cpu")


def draw(rows, length, seed):
    return torch.randn(rows, 2, length, 4, generator=torch.Generator().manual_seed(seed))


def seen(cache, key):
    """All keys and values of a step behind what is there."""
    keys, values = cache.update(0, key, -key)
    cache.advance(key.shape[2])
    return keys.clone(), values.clone()


@pytest.mark.parametrize("reserve", [0, 100])
@pytest.mark.parametrize("rows", [[2, 0, 1], [1, 1, 1], [0, 2]])
def test_reordered_rows_go_on_from_each_other(rows, reserve):
    cache, past = GrowingCache(reserve=reserve), draw(3, 70, 0)
    seen(cache, past)
    cache.reorder(torch.tensor(rows))
    new = draw(len(rows), 1, 1)
    keys, values = seen(cache, new)
    assert torch.equal(keys, torch.cat((past[rows], new), dim=2))
    assert torch.equal(values, -keys)


def test_reordered_rows_keep_their_padding():
    cache = GrowingCache(num_padding=torch.tensor([0, 2]))
    seen(cache, draw(2, 3, 0))
    cache.reorder(torch.tensor([1, 1]))
    step = cache.begin(1, CPU)
    assert step.positions.tolist() == [[1], [1]]
    assert step.mask is not None
    assert step.mask.flatten(1).tolist() == 2 * [[False, False, True, True]]


def test_padded_steps_see_whole_blocks_and_mask_the_rest():
    cache, past = PaddedCache(), draw(1, 63, 0)
    assert cache.begin(63, CPU).causal
    keys, _ = seen(cache, past)
    assert torch.equal(keys, past)
    for length in range(64, 67):
        step = cache.begin(1, CPU)
        keys, values = seen(cache, draw(1, 1, length))
        assert step.mask.shape[-1] == keys.shape[2] == (64 if length == 64 else 128)
        assert step.mask.sum() == length
        assert not keys[:, :, length:].any() and not values[:, :, length:].any()
    assert torch.equal(keys[:, :, :63], past)


def test_a_whole_sequence_keeps_nothing_but_its_angles():
    cache, rope = WholeSequence(), Rope(4, 100.0, torch.float32)
    for length in (3, 3, 5):
        step = cache.begin(length, CPU)
        key = draw(1, length, length)
        assert not step.causal and step.mask is None
        assert cache.update(0, key, -key)[0] is key
        assert all(map(torch.equal, cache.angles(step, rope), rope.angles(torch.arange(length)[None])))
        cache.advance(length)
