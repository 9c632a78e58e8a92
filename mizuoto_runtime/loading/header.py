"""The header of a safetensors file, checked before anything it says is used.

Owns the format's rules and the sentences for files that break them; reading the tensors is `safetensors.py`.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import torch

from ..errors import ModelFileError

MAX_HEADER_BYTES = 100_000_000
"""The format's own limit."""

METADATA = "__metadata__"
DTYPES: Mapping[str, torch.dtype] = {
    "BOOL": torch.bool,
    "U8": torch.uint8,
    "U16": torch.uint16,
    "U32": torch.uint32,
    "U64": torch.uint64,
    "I8": torch.int8,
    "I16": torch.int16,
    "I32": torch.int32,
    "I64": torch.int64,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E4M3FNUZ": torch.float8_e4m3fnuz,
    "F8_E5M2": torch.float8_e5m2,
    "F8_E5M2FNUZ": torch.float8_e5m2fnuz,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F32": torch.float32,
    "F64": torch.float64,
    "C64": torch.complex64,
}

_LENGTH_BYTES = 8
_MAX_ELEMENTS = 2**62  # torch counts elements and strides in 63 bits
_IMPOSTORS = (
    (b"version https://git-lfs", "it is the Git LFS pointer to the file"),
    (b"<", "it is a web page"),
    (b"PK\x03\x04", "it is a zip or PyTorch file"),
    (b"\x80", "it is a pickle"),
    (b"GGUF", "it is a GGUF file"),
)


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """Where one tensor lies in its file; `offset` counts from the beginning of the file."""

    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]
    offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says about itself: its tensors in the order of their bytes, and free metadata."""

    tensors: tuple[StoredTensor, ...]
    metadata: Mapping[str, str]


def read_header(path: Path) -> Header:
    """The header of a safetensors file, consistent in itself and with the file's length.

    Raises:
        ModelFileError: The file is missing, unreadable, cut off, damaged or of another format.
    """
    require_file(path)
    try:
        with open(path, "rb") as file:
            file_bytes = os.fstat(file.fileno()).st_size
            start = file.read(max(_LENGTH_BYTES, *(len(mark) for mark, _ in _IMPOSTORS)))
            length = int.from_bytes(start[:_LENGTH_BYTES], "little")
            if file_bytes < _LENGTH_BYTES:
                raise cut_off(path, file_bytes, _LENGTH_BYTES)
            if length > MAX_HEADER_BYTES or start[_LENGTH_BYTES : _LENGTH_BYTES + 1] not in (b"{", b""):
                raise _other_format(path, start)
            if file_bytes < _LENGTH_BYTES + length:
                raise cut_off(path, file_bytes, _LENGTH_BYTES + length)
            file.seek(_LENGTH_BYTES)
            text = file.read(length)
    except OSError as error:
        raise unreadable(path, error) from error
    entries = _entries(path, text)
    metadata = _metadata(path, entries.pop(METADATA, {}))
    tensors = [_tensor(path, name, entry, _LENGTH_BYTES + length) for name, entry in entries.items()]
    tensors.sort(key=lambda tensor: (tensor.offset, tensor.size_bytes))
    _check_layout(path, tensors, _LENGTH_BYTES + length, file_bytes)
    return Header(tuple(tensors), metadata)


def require_file(path: Path) -> None:
    """Return if `path` is a file.

    Raises:
        ModelFileError: It is not.
    """
    if not path.is_file():
        raise ModelFileError(f'Model file "{path.name}" is missing in "{path.parent}"; copy it there again.')


def unreadable(path: Path, error: object) -> ModelFileError:
    """The error for a file that the system does not hand out."""
    return ModelFileError(f'Model file "{path}" cannot be read ({error}); check its rights and its disk.')


def cut_off(path: Path, present_bytes: int, wanted_bytes: int) -> ModelFileError:
    """The error for a file that ends too early."""
    return ModelFileError(
        f'Model file "{path}" is cut off: {present_bytes:,} of at least {wanted_bytes:,} bytes are there. '
        "Copy or download it again."
    )


def damaged(path: Path, why: str) -> ModelFileError:
    """The error for a file that contradicts itself; `why` is half a sentence."""
    return ModelFileError(f'Model file "{path}" is damaged: {why}. Copy or download it again.')


def read_small(path: Path, max_bytes: int) -> bytes:
    """The content of a file that is small if it is what it should be.

    Raises:
        ModelFileError: It is missing, unreadable or longer than `max_bytes`.
    """
    require_file(path)
    try:
        with open(path, "rb") as file:
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise unreadable(path, error) from error
    if len(data) > max_bytes:
        raise damaged(path, f"it is longer than {max_bytes:,} bytes")
    return data


def unique_keys(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object as a dict; for `json.loads(object_pairs_hook=...)`.

    Raises:
        ValueError: A key occurs twice.
    """
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f'"{key}" occurs twice')
        found[key] = value
    return found


def _other_format(path: Path, start: bytes) -> ModelFileError:
    what = next((what for mark, what in _IMPOSTORS if start.startswith(mark)), "it begins with something else")
    return ModelFileError(f'"{path}" is no safetensors file: {what}. Download the file itself from its publisher.')


def _entries(path: Path, text: bytes) -> dict[str, Any]:
    try:
        entries = json.loads(text.decode("utf-8"), object_pairs_hook=unique_keys)
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"its header cannot be understood ({error})") from error
    if not isinstance(entries, dict):
        raise damaged(path, "its header is no table of tensors")
    return entries


def _metadata(path: Path, entry: Any) -> dict[str, str]:
    if not isinstance(entry, dict) or not all(isinstance(value, str) for value in entry.values()):
        raise damaged(path, "its metadata are not texts")
    return entry


def _tensor(path: Path, name: str, entry: Any, data_start: int) -> StoredTensor:
    parts = entry if isinstance(entry, dict) else {}
    kind, shape, offsets = (parts.get(key) for key in ("dtype", "shape", "data_offsets"))
    if not isinstance(kind, str) or not _counts(shape) or not _counts(offsets) or len(offsets) != 2:
        raise damaged(path, f'tensor "{name}" lacks a proper type, shape or place')
    dtype = DTYPES.get(kind)
    if dtype is None:
        raise ModelFileError(
            f'Tensor "{name}" of "{path}" has the type {kind}, which this version cannot read. '
            "Use the model's float16, bfloat16 or float32 file."
        )
    begin, end = offsets
    if math.prod(max(size, 1) for size in shape) > _MAX_ELEMENTS or math.prod(shape) * dtype.itemsize != end - begin:
        raise damaged(path, f'tensor "{name}" of shape {tuple(shape)} does not fill the {end - begin:,} bytes it has')
    return StoredTensor(name, dtype, tuple(shape), data_start + begin, end - begin)


def _counts(value: Any) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(each) is int and each >= 0 for each in value)


def _check_layout(path: Path, tensors: list[StoredTensor], data_start: int, file_bytes: int) -> None:
    """The tensors must lie end to end and fill the file, as the format demands."""
    position, before = data_start, "the header"
    for tensor in tensors:
        if tensor.offset != position:
            how = "overlaps" if tensor.offset < position else "leaves a gap after"
            raise damaged(path, f'tensor "{tensor.name}" {how} {before}')
        position, before = position + tensor.size_bytes, f'"{tensor.name}"'
    if position > file_bytes:
        raise cut_off(path, file_bytes, position)
    if position < file_bytes:
        raise damaged(path, f"{file_bytes - position:,} bytes follow its last tensor")
