"""Tables that stay in their file: rows are read when they are looked up, and the rest never takes memory."""

from __future__ import annotations

import os
from pathlib import Path

import torch
from torch import nn

from ..errors import ModelFileError
from .checkpoint import find_stored
from .header import StoredTensor, cut_off, unreadable
from .safetensors import fill


class StoredRows(nn.Module):
    """An embedding of which only the rows asked for are read, in the type in which they are stored.

    It has no weights. The file is open during a lookup only, and must then be the one that was there at first.

    Args:
        path: A safetensors file.
        tensor: The table in it, [rows, width].
    """

    def __init__(self, path: Path, tensor: StoredTensor) -> None:
        super().__init__()
        self._path = path
        self._tensor = tensor
        self._file = _identity(os.stat(path))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """[...] int64 on the CPU -> [..., width] on the CPU.

        Raises:
            IndexError: The table has no such row.
            ModelFileError: The file is gone, cannot be read, or is another one by now.
        """
        path, tensor = self._path, self._tensor
        num_rows, width = tensor.shape
        if ids.numel() and not 0 <= int(ids.min()) <= int(ids.max()) < num_rows:
            raise IndexError(f"{tensor.name} has {num_rows} rows, and one of {ids.flatten().tolist()} is none of them")
        rows = torch.empty(ids.numel(), width, dtype=tensor.dtype)
        try:
            with open(path, "rb", buffering=0) as file:
                if _identity(os.fstat(file.fileno())) != self._file:
                    raise ModelFileError(f'Model file "{path}" was changed since it was loaded; load the model again.')
                for row, index in zip(rows, ids.flatten().tolist(), strict=True):
                    fill(file, row, tensor.offset + index * width * tensor.dtype.itemsize)
        except OSError as error:
            raise unreadable(path, error) from error
        except EOFError as error:
            raise cut_off(path, path.stat().st_size, tensor.offset + tensor.size_bytes) from error
        return rows.view(*ids.shape, width)


def stored_rows(folder: Path, name: str, shape: tuple[int, int]) -> StoredRows:
    """The table called `name` of the checkpoint in `folder`.

    Raises:
        ModelFileError: It is missing, damaged or of another shape.
    """
    path, tensor = find_stored(folder, name)
    if tensor.shape != shape:
        raise ModelFileError(
            f'"{name}" of "{path}" has the shape {tensor.shape} and its configuration says {shape}. '
            "They belong to different models: use the folder as its publisher offers it."
        )
    return StoredRows(path, tensor)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns
