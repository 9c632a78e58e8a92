"""Decoding a long sequence in overlapping tiles, for phases whose whole input does not fit (S160).

Not exact where the function looks beyond the tile; never for functions that carry state along the sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from ..errors import EngineError

TILE = 256  # ComfyUI's audio VAE tiling
OVERLAP = 32


def tile_starts(num_frames: int, tile: int = TILE, overlap: int = OVERLAP) -> list[int]:
    """First frames of the tiles, at least `overlap` shared between neighbours.

    All tiles are whole: the last one begins earlier instead of being short. A sequence within one tile is one tile.
    """
    if num_frames <= tile:
        return [0]
    last = num_frames - tile
    return [*range(0, last, tile - overlap), last]


def tiles_1d(
    function: Callable[[torch.Tensor], torch.Tensor], frames: torch.Tensor, tile: int = TILE, overlap: int = OVERLAP
) -> Iterator[torch.Tensor]:
    """The pieces of `tiled_1d` in order; joined along the last axis they are the whole.

    While a tile is computed, only the overlap of the one before it is held here.
    """
    if tile < 1 or not 0 <= 2 * overlap <= tile:
        raise EngineError(f"Tiles of {tile} frames cannot overlap by {overlap}; at most by half.")
    num_frames = frames.shape[-1]
    starts = tile_starts(num_frames, tile, overlap)
    tail: torch.Tensor | None = None  # the end of the tile before, still to be faded into this one
    done = 0  # frames given out so far
    for start, is_last in zip(starts, [*[False] * (len(starts) - 1), True], strict=True):
        end = min(start + tile, num_frames)
        output = function(frames[..., start:end])
        hop = _hop(output, end - start)
        output = output[..., (done - start) * hop :]  # the last tile may begin long before
        if tail is not None:
            yield _cross_fade(tail, output[..., : overlap * hop])
            output = output[..., overlap * hop :]
        kept = 0 if is_last else overlap * hop
        # A copy: a view would keep the whole tile while the next one is made.
        tail = output[..., output.shape[-1] - kept :].clone() if kept else None
        if output.shape[-1] > kept:
            yield output[..., : output.shape[-1] - kept]
        done = end - overlap
        del output


def tiled_1d(
    function: Callable[[torch.Tensor], torch.Tensor], frames: torch.Tensor, tile: int = TILE, overlap: int = OVERLAP
) -> torch.Tensor:
    """`function(frames)` computed tile by tile, neighbours cross-faded linearly over their overlap.

    Args:
        function: [..., T] -> [..., T x hop] for every T up to `tile`, with the same whole hop.
        frames: [..., T], any T of at least 1.
        tile: Frames that `function` sees at a time.
        overlap: Frames shared by neighbours, at most half a tile.

    Raises:
        EngineError: The overlap is too large, or the function's output is no whole multiple of its input.
    """
    return torch.cat(list(tiles_1d(function, frames, tile, overlap)), dim=-1)


def _hop(output: torch.Tensor, num_frames: int) -> int:
    hop, rest = divmod(output.shape[-1], num_frames)
    if rest or not hop:
        raise EngineError(f"{output.shape[-1]} samples of {num_frames} frames: such an output cannot be tiled.")
    return hop


def _cross_fade(old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    length = old.shape[-1]
    ramp = torch.arange(1, length + 1, dtype=torch.float32, device=old.device) / (length + 1)
    return torch.lerp(old, new, ramp.to(old.dtype))
