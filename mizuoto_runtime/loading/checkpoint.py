"""A checkpoint as its publisher lays it out: one file, or a folder of shards with an index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from ..errors import ModelFileError
from .fields import read_json
from .header import StoredTensor, damaged, read_header, require_file, unique_keys
from .pickle import SUFFIXES, read_pickle
from .safetensors import Select, read_safetensors

_SUFFIX = ".safetensors"
_SHOWN = 3


def read_checkpoint(
    path: Path, dtype: torch.dtype | None = None, select: Select | None = None
) -> Iterator[tuple[str, torch.Tensor]]:
    """(name, CPU tensor) pairs of a folder, a safetensors file or a PyTorch file, floating-point ones in `dtype`.

    Raises:
        ModelFileError: There is no such file or folder, it is damaged, or its suffix is none of a checkpoint.
    """
    if path.is_dir():
        return read_checkpoint_folder(path, dtype, select)
    require_file(path)
    if path.suffix == _SUFFIX:
        return read_safetensors(path, dtype, select)
    if path.suffix in SUFFIXES:
        return read_pickle(path, dtype, select)
    known = ", ".join(sorted({_SUFFIX, *SUFFIXES}))
    raise ModelFileError(f'"{path}" is no checkpoint: the files that can be read end in {known}.')


def read_checkpoint_folder(
    folder: Path, dtype: torch.dtype | None = None, select: Select | None = None, stem: str = "model"
) -> Iterator[tuple[str, torch.Tensor]]:
    """(name, CPU tensor) pairs of `<stem>.safetensors`, or else of the shards in `<stem>.safetensors.index.json`.

    Index and shards are checked against each other before the first tensor is read; shards without a selected tensor
    need not be there.

    Raises:
        ModelFileError: The folder holds neither, a shard is missing or damaged, or index and shards disagree.
    """
    single, index = folder / f"{stem}{_SUFFIX}", folder / f"{stem}{_SUFFIX}.index.json"
    if single.is_file() or not index.is_file():
        if not single.is_file():
            raise ModelFileError(
                f'"{folder}" holds neither "{single.name}" nor "{index.name}"; copy the model\'s folder there again.'
            )
        yield from read_safetensors(single, dtype, select)
        return
    shards = read_index(index)
    wanted = {
        name: names for name, names in shards.items() if select is None or any(select(tensor) for tensor in names)
    }
    missing = [name for name in wanted if not (folder / name).is_file()]
    if missing:
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        shown = ", ".join(f'"{name}"' for name in missing[:_SHOWN])
        raise ModelFileError(f'{shown}{more} of "{index.name}" is missing in "{folder}"; copy it there again.')
    for name, names in wanted.items():
        _check_shard(folder / name, names, index)
    for name in wanted:
        yield from read_safetensors(folder / name, dtype, select)


def find_stored(folder: Path, name: str, stem: str = "model") -> tuple[Path, StoredTensor]:
    """The file of a folder that holds the tensor `name`, and where in it; files as in `read_checkpoint_folder`.

    Raises:
        ModelFileError: No file holds it, or the one that should is missing or damaged.
    """
    path, index = folder / f"{stem}{_SUFFIX}", folder / f"{stem}{_SUFFIX}.index.json"
    if not path.is_file() and index.is_file():
        shard = next((shard for shard, names in read_index(index).items() if name in names), None)
        if shard is None:
            raise ModelFileError(f'"{index}" lists no tensor "{name}"; use the folder as its publisher offers it.')
        path = folder / shard
    found = next((tensor for tensor in read_header(path).tensors if tensor.name == name), None)
    if found is None:
        raise ModelFileError(f'"{path}" lacks the tensor "{name}"; use the folder as its publisher offers it.')
    return path, found


def read_index(path: Path) -> dict[str, frozenset[str]]:
    """Shard file -> names of its tensors, in the order of the shards' names.

    Raises:
        ModelFileError: The index is damaged, or names a shard outside its folder.
    """
    shards: dict[str, set[str]] = {}
    for name, shard in _weight_map(path).items():
        if not _is_file_name(shard):
            raise ModelFileError(
                f'"{path}" was refused: it looks for "{name}" in {shard!r}, which is no {_SUFFIX} file beside it. '
                "Download the model from its publisher."
            )
        shards.setdefault(shard, set()).add(name)
    return {shard: frozenset(shards[shard]) for shard in sorted(shards)}


def _weight_map(path: Path) -> Mapping[str, Any]:
    table = read_json(path, unique_keys).get("weight_map")
    if not isinstance(table, dict) or not table:
        raise damaged(path, 'it has no "weight_map"')
    return table


def _is_file_name(shard: Any) -> bool:
    # Both systems' separators, drives, streams and NUL, wherever the index is read.
    return isinstance(shard, str) and shard.endswith(_SUFFIX) and not any(mark in shard for mark in "/\\:\0")


def _check_shard(path: Path, names: frozenset[str], index: Path) -> None:
    stored = {tensor.name for tensor in read_header(path).tensors}
    for name in sorted(stored ^ names):
        how = "has no" if name in names else "has an unlisted"
        raise ModelFileError(
            f'"{path}" {how} tensor "{name}", against "{index.name}": they belong to different downloads. '
            "Copy the whole folder again."
        )
