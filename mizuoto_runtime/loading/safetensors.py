"""Reading safetensors files into tensors that stand on their own memory.

The bytes go from the file straight into the tensor that stays: nothing is mapped, and no second copy exists at any
time but one small stage where the type changes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from io import FileIO
from pathlib import Path

import torch

from ..errors import ModelFileError
from .header import StoredTensor, cut_off, read_header, unreadable

STAGE_BYTES = 2 << 20
"""Most bytes between file and tensor where the type changes: 16 MB leave the core's cache and take 1.6 x as long."""

Select = Callable[[str], bool]
"""Which tensors of a checkpoint to read, told by their names there."""


def read_safetensors(
    path: Path, dtype: torch.dtype | None = None, select: Select | None = None
) -> Iterator[tuple[str, torch.Tensor]]:
    """(name, CPU tensor) pairs of the file, one at a time in the file's order, floating-point ones in `dtype`.

    Every tensor owns fresh memory: torch aligns it to 64 bytes, while a view of the mapped file may start anywhere,
    and misaligned weights change the bits of small matrix products. Tensors that `select` rejects are not read.

    Raises:
        ModelFileError: The file is missing, cut off, damaged or no safetensors file; found before the first tensor.
    """
    chosen = [tensor for tensor in read_header(path).tensors if select is None or select(tensor.name)]
    yield from read_stored(path, chosen, dtype)


def read_stored(
    path: Path, tensors: Sequence[StoredTensor], dtype: torch.dtype | None = None
) -> Iterator[tuple[str, torch.Tensor]]:
    """(name, CPU tensor) pairs of a file of any format whose raw tensors lie where `tensors` says, as above.

    Raises:
        ModelFileError: The file cannot be read, or is shorter than it was.
    """
    converted = [tensor.size_bytes for tensor in tensors if _target(tensor.dtype, dtype) != tensor.dtype]
    try:
        file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed below, outside this try
    except OSError as error:
        raise unreadable(path, error) from error
    with file:
        stage = _empty((min(STAGE_BYTES, max(converted, default=0)),), torch.uint8)
        for tensor in tensors:
            yield tensor.name, _read(path, file, tensor, _target(tensor.dtype, dtype), stage)


def _target(stored: torch.dtype, wanted: torch.dtype | None) -> torch.dtype:
    return wanted if wanted is not None and stored.is_floating_point else stored


def _empty(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    # Host code runs nodes in inference mode, whose tensors could never become streamable parameters.
    with torch.inference_mode(False):
        return torch.empty(shape, dtype=dtype, device="cpu")


def _read(path: Path, file: FileIO, tensor: StoredTensor, dtype: torch.dtype, stage: torch.Tensor) -> torch.Tensor:
    target = _empty(tensor.shape, dtype)
    flat = target.view(-1)
    try:
        if dtype == tensor.dtype:
            fill(file, flat, tensor.offset)
        else:
            _convert(file, flat, tensor, stage)
    except OSError as error:
        raise unreadable(path, error) from error
    except EOFError as error:
        raise _shrunk(path, tensor) from error
    return target


def _convert(file: FileIO, flat: torch.Tensor, tensor: StoredTensor, stage: torch.Tensor) -> None:
    # Whole elements only: a small stage may end in the middle of a larger type.
    staged = stage[: len(stage) // tensor.dtype.itemsize * tensor.dtype.itemsize].view(tensor.dtype)
    for start in range(0, len(flat), max(1, len(staged))):
        part = staged[: len(flat) - start]
        fill(file, part, tensor.offset + start * tensor.dtype.itemsize)
        flat[start : start + len(part)].copy_(part)


def fill(file: FileIO, flat: torch.Tensor, offset: int) -> None:
    """Overwrite a contiguous tensor of one dimension with the bytes at `offset`."""
    view = flat.view(torch.uint8).numpy().data
    done = 0
    while done < len(view):
        count = _read_at(file, view[done:], offset + done)
        if not count:
            raise EOFError
        done += count


def _read_at(file: FileIO, view: memoryview, offset: int) -> int:
    if hasattr(os, "preadv"):
        return os.preadv(file.fileno(), [view], offset)
    file.seek(offset)  # Windows has no positioned read
    return file.readinto(view) or 0


def _shrunk(path: Path, tensor: StoredTensor) -> ModelFileError:
    return cut_off(path, path.stat().st_size, tensor.offset + tensor.size_bytes)
