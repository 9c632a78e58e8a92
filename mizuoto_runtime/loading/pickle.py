"""Reading `.pt`, `.pth`, `.bin` and `.ckpt` files: weights only, never code.

A pickle is a program. torch's restricted unpickler runs none of it but the building of tensors and plain containers;
whatever asks for more is refused with the name of what it asked for.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch

from ..errors import ModelFileError
from .header import damaged, require_file, unreadable
from .safetensors import Select

SUFFIXES = frozenset({".pt", ".pth", ".bin", ".ckpt"})

# Before 2.6 weights_only=True could be got round: CVE-2025-32434.
_SAFE_SINCE = (2, 6)
_GLOBAL = re.compile(r"GLOBAL (\S+)")
_ALIGNMENT = 64


def read_pickle(
    path: Path, dtype: torch.dtype | None = None, select: Select | None = None
) -> Iterator[tuple[str, torch.Tensor]]:
    """(name, CPU tensor) pairs of a PyTorch checkpoint, floating-point ones in `dtype`; what is no tensor is left out.

    Nested dictionaries give dotted names: `{"ema": {"conv.weight": t}}` is "ema.conv.weight". Every tensor owns fresh
    memory aligned to 64 bytes, also where the file shares one storage among several.

    Raises:
        ModelFileError: The file is missing, damaged, holds code, is a TorchScript program or an archive of the oldest
            PyTorch, or torch is older than 2.6.
    """
    # Converting out of the mapped file, there is never a full copy in the stored type.
    is_mapped = _is_safe_zip(path) and dtype is not None
    found = _named_tensors(path, _load(path, is_mapped))
    taken: set[int] = set()
    for name in list(found):
        tensor = found.pop(name)
        if select is None or select(name):
            _require_values(path, name, tensor)
            yield name, _own(tensor, dtype, taken, is_mapped)


def read_pickled_tensor(path: Path, dtype: torch.dtype | None = None) -> torch.Tensor:
    """The one tensor that a PyTorch file is, without a name: in memory of its own, as `read_pickle` gives them.

    Raises:
        ModelFileError: As by `read_pickle`, or it holds something else.
    """
    _is_safe_zip(path)
    root = _load(path, False)
    if not isinstance(root, torch.Tensor):
        raise ModelFileError(f'"{path}" holds no tensor but a {type(root).__name__}; use the file of its publisher.')
    _require_values(path, path.stem, root)
    return _own(root, dtype, set(), False)


def _is_safe_zip(path: Path) -> bool:
    """Whether the file has the newer of the two layouts; either can be read safely.

    Raises:
        ModelFileError: It cannot.
    """
    require_file(path)
    _require_safe_torch(path)
    is_zip = _is_zip(path)
    if is_zip:
        _refuse_programs(path)
    return is_zip


def _require_safe_torch(path: Path) -> None:
    version = tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2])
    if version < _SAFE_SINCE:
        raise ModelFileError(
            f'"{path}" is a pickle, which PyTorch {torch.__version__} cannot read safely. '
            "Update PyTorch to 2.6 or later, or use the model's .safetensors file."
        )


def _is_zip(path: Path) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"PK\x03\x04"
    except OSError as error:
        raise unreadable(path, error) from error


def _refuse_programs(path: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise _no_weights(path, str(error)) from error
    if any(name.rpartition("/")[2] == "constants.pkl" for name in names):
        raise _refusal(path, "it is a TorchScript program")


def _load(path: Path, is_mapped: bool) -> Any:
    try:
        with torch.inference_mode(False):
            return torch.load(path, map_location="cpu", weights_only=True, mmap=is_mapped)
    except MemoryError:
        raise
    except Exception as error:  # a damaged pickle may fail with anything
        asked = _GLOBAL.search(str(error)) if isinstance(error, UnpicklingError) else None
        if asked:
            raise _refusal(path, f'it asks for "{asked[1]}", which is code') from error
        if ".tar format" in str(error):
            raise _refusal(path, "it is an archive of the oldest PyTorch, which may hold code") from error
        raise _no_weights(path, type(error).__name__) from error


def _no_weights(path: Path, why: str) -> ModelFileError:
    return ModelFileError(
        f'Model file "{path}" cannot be read as weights ({why}): it is damaged or another kind of file. '
        "Copy or download it again, or use the model's .safetensors file."
    )


def _refusal(path: Path, why: str) -> ModelFileError:
    return ModelFileError(
        f'Model file "{path}" was refused and nothing in it was run: {why} and not only weights. '
        "Use the model's .safetensors file, or convert this one where you trust it."
    )


def _named_tensors(path: Path, root: Any) -> dict[str, torch.Tensor]:
    if not isinstance(root, Mapping):
        raise ModelFileError(f'"{path}" holds no table of tensors but a {type(root).__name__}; it is no model file.')
    found: dict[str, torch.Tensor] = {}
    parents: list[tuple[str, Mapping[Any, Any]]] = [("", root)]
    entered: set[int] = set()
    while parents:
        prefix, table = parents.pop()
        if id(table) in entered:
            raise damaged(path, f'table "{prefix.rstrip(".")}" occurs twice in it')
        entered.add(id(table))
        for key, value in table.items():
            name = f"{prefix}{key}"
            if isinstance(value, Mapping):
                parents.append((f"{name}.", value))
            elif isinstance(value, torch.Tensor):
                if name in found:
                    raise damaged(path, f'it has two tensors "{name}"')
                found[name] = value
    return found


def _require_values(path: Path, name: str, tensor: torch.Tensor) -> None:
    if tensor.is_meta or tensor.layout is not torch.strided or tensor.is_quantized:
        raise ModelFileError(f'Tensor "{name}" of "{path}" is sparse, quantised or without values; use another file.')


def _own(tensor: torch.Tensor, dtype: torch.dtype | None, taken: set[int], is_mapped: bool) -> torch.Tensor:
    """The tensor itself if it fills a memory of its own that no earlier one has, else a copy."""
    target = dtype if dtype is not None and tensor.is_floating_point() else tensor.dtype
    values, storage = tensor.detach(), tensor.untyped_storage()
    address = storage.data_ptr()
    is_whole = values.is_contiguous() and values.nbytes == storage.nbytes() and values.data_ptr() % _ALIGNMENT == 0
    if target == tensor.dtype and is_whole and not is_mapped and address not in taken:
        taken.add(address)
        return values
    with torch.inference_mode(False):
        return torch.empty(values.shape, dtype=target, device="cpu").copy_(values)
