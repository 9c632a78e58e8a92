"""The checkpoint file: finding it in a folder and sorting its tensors into components."""

from __future__ import annotations

from pathlib import Path

import torch

from ...mizuoto_runtime.errors import ModelFileError
from ...mizuoto_runtime.loading.safetensors import read_safetensors
from .keys import PREFIXES, rename
from .manifest import CHECKPOINTS


def find_checkpoint(folder: Path) -> Path:
    """The one checkpoint in `folder`.

    Raises:
        ModelFileError: There is none, or several.
    """
    found = sorted(folder.glob(CHECKPOINTS))
    if len(found) != 1:
        what = "no file" if not found else f"{len(found)} files"
        raise ModelFileError(f'"{folder.name}" holds {what} called {CHECKPOINTS}; keep exactly one voice in a folder.')
    return found[0]


def read_checkpoint(path: Path, dtype: torch.dtype) -> dict[str, dict[str, torch.Tensor]]:
    """Component -> tensor name -> tensor in `dtype`.

    Raises:
        ModelFileError: The file cannot be read or holds another model.
    """
    components: dict[str, dict[str, torch.Tensor]] = {name: {} for name in PREFIXES}
    for key, tensor in read_safetensors(path, dtype):
        place = rename(key)
        if place is None:
            raise ModelFileError(
                f'"{path.name}" is no hibari voice: it has a tensor "{key}". Use the file as it was published.'
            )
        components[place[0]][place[1]] = tensor
    return components
