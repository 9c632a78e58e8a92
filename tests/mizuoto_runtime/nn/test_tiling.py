import weakref
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from mizuoto.mizuoto_runtime.errors import EngineError
from mizuoto.mizuoto_runtime.nn.tiling import OVERLAP, TILE, tile_starts, tiled_1d, tiles_1d


def noise(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def upsampled(hop, seen=None):
    """A pointwise function of `hop` samples a frame, [B, C, T] -> [B, 1, T x hop]."""

    def function(frames):
        if seen is not None:
            seen.append(frames.shape[-1])
        return (frames.mean(1, keepdim=True).sin() * 3).repeat_interleave(hop, -1)

    return function


def smoothing(radius, hop=1):
    """A convolution that looks `radius` frames to both sides."""
    kernel = noise(1, 1, 2 * radius + 1, seed=7) / (2 * radius + 1)
    return lambda frames: F.conv1d(frames, kernel, padding=radius).repeat_interleave(hop, -1)


@pytest.mark.parametrize("hop", [1, 3])
@pytest.mark.parametrize("num_frames", [1, 31, 255, 256, 257, 288, 289, 480, 481, 1000])
def test_pointwise_functions_come_out_exactly(num_frames, hop):
    frames, function = noise(2, 4, num_frames), upsampled(hop)
    assert torch.equal(tiled_1d(function, frames), function(frames))


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 200), st.integers(1, 40), st.integers(0, 20), st.integers(1, 3))
def test_every_tile_and_overlap(num_frames, tile, overlap, hop):
    overlap = min(overlap, tile // 2)
    frames, function = noise(1, 2, num_frames), upsampled(hop)
    assert torch.equal(tiled_1d(function, frames, tile, overlap), function(frames))
    starts = tile_starts(num_frames, tile, overlap)
    assert starts == sorted(set(starts)) and starts[0] == 0
    assert all(later - earlier <= tile - overlap for earlier, later in pairwise(starts))
    assert max(starts) == max(0, num_frames - tile)


def test_all_tiles_are_whole():
    seen = []
    tiled_1d(upsampled(2, seen), noise(1, 1, 1000))
    assert seen == [TILE] * 5
    seen.clear()
    tiled_1d(upsampled(2, seen), noise(1, 1, 200))
    assert seen == [200]


@pytest.mark.parametrize("num_frames", [300, 700, 1001])
@pytest.mark.parametrize("hop", [1, 4])
def test_a_convolution_errs_a_little_and_only_in_the_overlaps(num_frames, hop):
    radius = 5
    frames, function = noise(1, 1, num_frames), smoothing(radius, hop)
    expected, tiled = function(frames), tiled_1d(function, frames)
    assert tiled.shape == expected.shape
    difference = (tiled - expected).abs()[0, 0]
    inside = torch.zeros(num_frames, dtype=torch.bool)
    ends = [start + TILE for start in tile_starts(num_frames)[:-1]]
    for end in ends:
        inside[end - OVERLAP : end] = True
    inside = inside.repeat_interleave(hop)
    assert difference[~inside].max() <= 1e-6
    # Wrong by no more than the convolution itself, where that tile's weight is at most radius / OVERLAP.
    assert 0 < difference.max() <= expected.abs().max() * radius / OVERLAP


def test_an_overlap_makes_the_seam_smaller():
    frames, function = noise(1, 1, 1000), smoothing(5)
    expected = function(frames)

    def error(overlap):
        return (tiled_1d(function, frames, overlap=overlap) - expected).abs().max()

    assert error(OVERLAP) < error(0) / 2


def test_cross_fades_are_linear():
    values = iter([0.0, 1.0])
    faded = tiled_1d(lambda frames: torch.full_like(frames, next(values)), torch.zeros(1, 1, 12), tile=8, overlap=3)
    # The second and last tile begins at 4; the fade covers the last three frames of the first.
    torch.testing.assert_close(faded[0, 0], torch.tensor([0.0] * 5 + [0.25, 0.5, 0.75] + [1.0] * 4))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_keeps_the_dtype(dtype):
    frames = noise(1, 1, 600).to(dtype)
    assert torch.equal(tiled_1d(lambda x: x * 2, frames), frames * 2)


def test_pieces_are_the_whole_and_come_as_they_are_ready():
    frames, seen = noise(1, 2, 900), []
    pieces = tiles_1d(upsampled(2, seen), frames)
    first = next(pieces)
    assert len(seen) == 1 and first.shape[-1] == 2 * (TILE - OVERLAP)
    rest = list(pieces)
    assert all(piece.shape[-1] for piece in rest)
    assert torch.equal(torch.cat([first, *rest], -1), upsampled(2)(frames))
    assert all(piece.shape[-1] for piece in tiles_1d(upsampled(2), frames, 2 * OVERLAP, OVERLAP))


def test_one_tile_is_held_at_a_time():
    alive, most = weakref.WeakSet(), []

    def function(frames):
        most.append(len(alive))
        output = frames.repeat_interleave(8, -1)
        alive.add(output.untyped_storage())
        return output

    total = sum(piece.shape[-1] for piece in map(torch.clone, tiles_1d(function, noise(1, 1, 2000))))
    assert total == 16000 and len(most) == 9
    assert max(most) == 0  # the tile before is gone when the next one is computed


def test_the_input_is_not_changed_by_a_function_that_returns_it():
    frames = noise(1, 1, 700)
    before = frames.clone()
    assert torch.equal(tiled_1d(lambda x: x, frames), before)
    assert torch.equal(frames, before)


@pytest.mark.parametrize(("tile", "overlap"), [(0, 0), (8, 5), (8, -1), (1, 1)])
def test_impossible_tiles(tile, overlap):
    with pytest.raises(EngineError, match="overlap"):
        tiled_1d(upsampled(1), noise(1, 1, 20), tile, overlap)


@pytest.mark.parametrize("function", [lambda x: x[..., :-1], lambda x: F.pad(x, (0, 1)), lambda x: x[..., :0]])
def test_outputs_of_no_whole_multiple(function):
    with pytest.raises(EngineError, match="tiled"):
        tiled_1d(function, noise(1, 1, 300))
