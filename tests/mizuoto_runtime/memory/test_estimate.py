"""Estimates against caches that really grow, with every storage counted while it lives."""

import weakref

import pytest
import torch
from mizuoto.mizuoto_runtime.memory.estimate import generated_positions, kv_position_bytes, peak_bytes
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

HEADS, DIM = 2, 8
POSITION = kv_position_bytes(HEADS, DIM, 4)


class Traced(TorchDispatchMode):
    """Adds up the storages that are made inside and their peak."""

    def __init__(self):
        super().__init__()
        self.live, self.peak, self.known = 0, 0, set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor):
                self.count(tensor.untyped_storage())
        return result

    def count(self, storage):
        pointer, num_bytes = storage.data_ptr(), storage.nbytes()
        if not num_bytes or pointer in self.known:
            return
        self.known.add(pointer)
        self.live += num_bytes
        self.peak = max(self.peak, self.live)
        weakref.finalize(storage, self.forget, pointer, num_bytes)

    def forget(self, pointer, num_bytes):
        self.known.discard(pointer)
        self.live -= num_bytes


def one(rows, length=1):
    return torch.ones(rows, HEADS, length, DIM)


def grow_dynamic(layers, positions, rows, prompt, together):
    """The usual cache: every step concatenates one position, keys before values or both at once."""
    cache = [(one(rows, prompt), one(rows, prompt)) for _ in range(layers)]
    for _ in range(positions - prompt):
        for layer in range(layers):
            if together:
                keys, values = cache[layer]
                cache[layer] = (torch.cat([keys, one(rows)], 2), torch.cat([values, one(rows)], 2))
                del keys, values
            else:
                cache[layer] = (torch.cat([cache[layer][0], one(rows)], 2), cache[layer][1])
                cache[layer] = (cache[layer][0], torch.cat([cache[layer][1], one(rows)], 2))
    return cache


def grow_static(layers, positions, rows, start):
    """Buffers that double when they are full."""
    cache = [[torch.empty(rows, HEADS, start, DIM) for _ in range(2)] for _ in range(layers)]
    for position in range(positions):
        for buffers in cache:
            for index, old in enumerate(buffers):
                if position == old.shape[2]:
                    buffers[index] = torch.empty(rows, HEADS, 2 * position, DIM)
                    buffers[index][:, :, :position] = old
                del old
    return cache


def traced_peak(grow, *args):
    with Traced() as traced:
        cache = grow(*args)
        del cache
    assert traced.live == 0
    return traced.peak


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize(
    ("layers", "positions", "rows", "prompt"), [(1, 200, 1, 100), (4, 300, 1, 260), (6, 240, 3, 200)]
)
def test_dynamic_caches_peak_where_estimated(layers, positions, rows, prompt, together):  # S163
    peak = traced_peak(grow_dynamic, layers, positions, rows, prompt, together)
    estimate = peak_bytes(POSITION, layers, positions, "dynamic", rows)
    assert 0.98 * peak <= estimate  # the new position itself is the model's working memory, not the cache's
    assert estimate <= peak * (1.03 if together else (layers + 1) / (layers + 0.5) * 1.03)


@pytest.mark.parametrize(("layers", "rows"), [(1, 1), (4, 1), (6, 3)])
@pytest.mark.parametrize("positions", [256, 257, 300, 512])
def test_static_caches_stay_below_the_estimate(layers, rows, positions):  # S163
    peak = traced_peak(grow_static, layers, positions, rows, 16)
    estimate = peak_bytes(POSITION, layers, positions, "static", rows)
    assert peak <= estimate
    if positions == 257:  # the worst case: the buffers have just doubled for one more position
        assert estimate <= peak * 1.3


def test_the_tracer_sees_what_lives_at_the_same_time():
    with Traced() as traced:
        first = torch.ones(256)
        second = first + 1
        del first
        third = second.view(16, 16)
        del second
        del third
    assert (traced.peak, traced.live) == (2048, 0)


def test_a_sentence_needs_megabytes_where_the_limit_needs_gigabytes():  # S161
    position = kv_position_bytes(8, 128, 2)
    sentence = generated_positions(12, 16, 8192) + 60
    assert peak_bytes(position, 28, sentence, "dynamic") < 32e6
    assert peak_bytes(position, 28, 8192, "static") > 1.8e9


@pytest.mark.parametrize(
    ("text_units", "per_unit", "limit", "least", "expected"),
    [
        (10, 16, 2048, 0, 160),
        (1000, 16, 2048, 0, 2048),
        (3, 2.5, 2048, 0, 8),
        (0, 16, 2048, 0, 0),
        (1, 16, 2048, 64, 64),
        (1, 16, 32, 64, 32),
    ],
)
def test_length_by_text(text_units, per_unit, limit, least, expected):  # S162
    assert generated_positions(text_units, per_unit, limit, least) == expected


def test_position_bytes():
    keys = values = torch.empty(1, 8, 1, 128, dtype=torch.bfloat16)
    assert kv_position_bytes(8, 128, torch.bfloat16.itemsize) == keys.nbytes + values.nbytes
