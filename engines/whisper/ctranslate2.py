"""Reading CTranslate2's `model.bin`, the layout in which faster-whisper keeps its models.

The file is a list of named arrays with their sizes in front. The list is checked against the file's length before
anything is read into memory; the arrays go straight into the tensors that stay.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import torch

from ...mizuoto_runtime.errors import ModelFileError
from ...mizuoto_runtime.loading.header import StoredTensor, cut_off, damaged, require_file, unreadable
from ...mizuoto_runtime.loading.safetensors import Select, read_stored

VERSION = 6
SPEC = "WhisperSpec"

_DTYPES = (torch.float32, torch.int8, torch.int16, torch.int32, torch.float16, torch.bfloat16)
_MAX_RANK = 3
_GELU = 3
# Number -> what it must be, where it is there.
_FLAGS = {
    **{"decoder/activation": _GELU, "encoder/activation": _GELU, "decoder/pre_norm": 1, "encoder/pre_norm": 1},
    **{"decoder/alibi": 0, "decoder/scale_embeddings": 0, "decoder/start_from_zero_embedding": 0},
}
_SCALE = "_scale"  # behind the name of a weight in 8 bits: what its rows were multiplied by


@dataclass(frozen=True, slots=True)
class CTranslate2File:
    """What a file says about itself: its arrays, aliases included, and its single whole numbers."""

    path: Path
    tensors: tuple[StoredTensor, ...]
    numbers: Mapping[str, int]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Array -> its shape."""
        return {tensor.name: tensor.shape for tensor in self.tensors}

    @property
    def heads(self) -> dict[str, int]:
        """Part -> its attention heads.

        Raises:
            ModelFileError: They are not stated.
        """
        heads = {part: self.numbers.get(f"{part}/num_heads", 0) for part in ("encoder", "decoder")}
        if min(heads.values()) < 1:
            raise damaged(self.path, "it does not state the number of attention heads")
        return heads


def read_file(path: Path) -> CTranslate2File:
    """The list of a file's arrays, consistent in itself and with the file's length.

    Raises:
        ModelFileError: The file is missing, cut off, damaged, of another model or in a format that cannot be read.
    """
    require_file(path)
    try:
        with open(path, "rb") as file:
            reader = _Reader(path, file, os.fstat(file.fileno()).st_size)
            _check_start(reader)
            tensors, numbers = _entries(reader)
            aliases = {reader.text(): reader.text() for _ in range(reader.number("I"))}
    except OSError as error:
        raise unreadable(path, error) from error
    by_name = {tensor.name: tensor for tensor in tensors}
    if len(by_name) < len(tensors):
        raise damaged(path, "two of its arrays have one name")
    for alias, name in aliases.items():
        if name in by_name:
            by_name.setdefault(alias, replace(by_name[name], name=alias))
        elif name in numbers:
            numbers.setdefault(alias, numbers[name])
        else:
            raise damaged(path, f'"{alias}" stands for "{name}", which it lacks')
    for name, wanted in _FLAGS.items():
        if numbers.get(name, wanted) != wanted:
            raise ModelFileError(f'"{path}" has "{name}" {numbers[name]}; only {wanted} is supported.')
    return CTranslate2File(path, tuple(by_name.values()), numbers)


def read_tensors(file: CTranslate2File, dtype: torch.dtype, select: Select) -> Iterator[tuple[str, torch.Tensor]]:
    """(name, CPU tensor) pairs in `dtype`, of the selected names; weights in 8 bits are scaled back.

    Raises:
        ModelFileError: The file cannot be read, or is quantised in another way.
    """
    scales = dict(read_stored(file.path, [tensor for tensor in file.tensors if tensor.name.endswith(_SCALE)]))
    weights = [tensor for tensor in file.tensors if not tensor.name.endswith(_SCALE) and select(tensor.name)]
    for weight in weights:
        if not weight.dtype.is_floating_point:
            _check_scale(file.path, weight, scales.get(weight.name + _SCALE))
    for name, tensor in read_stored(file.path, weights, dtype):
        scale = scales.get(name + _SCALE)
        if not tensor.is_floating_point() and scale is not None:
            rows = scale.unflatten(0, (-1, *(1 for _ in tensor.shape[1:])))
            tensor = (tensor.float() / rows).to(dtype)
        yield name, tensor


def _check_scale(path: Path, tensor: StoredTensor, scale: torch.Tensor | None) -> None:
    if tensor.dtype != torch.int8 or scale is None or tuple(scale.shape) != tensor.shape[:1]:
        kind = str(tensor.dtype).removeprefix("torch.")
        raise ModelFileError(
            f'"{path}" is quantised in a way that cannot be undone ("{tensor.name}" is {kind}). '
            "Convert the model in float16, float32 or int8, or use its Hugging Face folder."
        )


class _Reader:
    """Takes the file apart, never past its end."""

    def __init__(self, path: Path, file: BinaryIO, file_bytes: int) -> None:
        self.path = path
        self._file = file
        self._file_bytes = file_bytes

    def bytes(self, count: int) -> bytes:
        """The next `count` bytes."""
        self.skip(count)
        self._file.seek(-count, os.SEEK_CUR)
        return self._file.read(count)

    def skip(self, count: int) -> int:
        """Pass over `count` bytes that are there; where they begin."""
        start = self._file.tell()
        if start + count > self._file_bytes:
            raise cut_off(self.path, self._file_bytes, start + count)
        self._file.seek(count, os.SEEK_CUR)
        return start

    def number(self, kind: str) -> Any:
        """A number of `struct`'s kind."""
        return struct.unpack(f"<{kind}", self.bytes(struct.calcsize(f"<{kind}")))[0]

    def text(self) -> str:
        """A text with its length in front and a zero behind."""
        data = self.bytes(self.number("H"))
        try:
            return data[:-1].decode("ascii")
        except UnicodeDecodeError as error:
            raise damaged(self.path, f"one of its names is no text ({error})") from error


def _check_start(reader: _Reader) -> None:
    version = reader.number("I")
    if version != VERSION:
        raise ModelFileError(
            f'"{reader.path}" is no CTranslate2 model of format {VERSION} (it says {version}); convert the model again '
            "with a present version, or use its Hugging Face folder."
        )
    spec = reader.text()
    if spec != SPEC:
        raise ModelFileError(f'"{reader.path}" is a "{spec}" model, and only "{SPEC}" can be loaded.')
    reader.number("I")  # revision of the specification: what it lists is checked instead


def _entries(reader: _Reader) -> tuple[list[StoredTensor], dict[str, int]]:
    tensors, numbers = [], {}
    for _ in range(reader.number("I")):
        name, rank = reader.text(), reader.number("B")
        if rank > _MAX_RANK:
            raise damaged(reader.path, f'"{name}" has {rank} dimensions')
        shape = tuple(reader.number("I") for _ in range(rank))
        kind, size_bytes = reader.number("B"), reader.number("I")
        if kind >= len(_DTYPES) or size_bytes != math.prod(shape) * _DTYPES[kind].itemsize:
            raise damaged(reader.path, f'type, shape and size of "{name}" contradict each other')
        dtype = _DTYPES[kind]
        if rank == 0 and not dtype.is_floating_point:
            numbers[name] = int.from_bytes(reader.bytes(size_bytes), "little", signed=True)
        else:
            tensors.append(StoredTensor(name, dtype, shape, reader.skip(size_bytes), size_bytes))
    return tensors, numbers
