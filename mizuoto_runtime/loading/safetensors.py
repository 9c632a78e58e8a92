"""Reading safetensors files into tensors that stand on their own memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open

from ..errors import ModelFileError


def read_safetensors(path: Path, dtype: torch.dtype | None = None) -> Iterator[tuple[str, torch.Tensor]]:
    """(name, CPU tensor) pairs of the file, one at a time, floating-point ones in `dtype`.

    Every tensor owns fresh memory: torch aligns it to 64 bytes, while a view of the mapped file may start anywhere,
    and misaligned weights change the bits of small matrix products.

    Raises:
        ModelFileError: The file is missing, no safetensors file or cut off.
    """
    if not path.is_file():
        raise ModelFileError(f'Model file "{path.name}" is missing in "{path.parent}"; copy it there again.')
    try:
        with safe_open(path, framework="pt") as file:
            for name in file.keys():  # noqa: SIM118 - safe_open is no mapping
                stored = file.get_tensor(name)
                target = dtype if dtype is not None and stored.is_floating_point() else stored.dtype
                yield name, torch.empty(stored.shape, dtype=target).copy_(stored)
    except (SafetensorError, OSError) as error:
        raise ModelFileError(
            f'Model file "{path}" cannot be read ({error}); it is damaged or incomplete: copy or download it again.'
        ) from error
