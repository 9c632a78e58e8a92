"""Adapters of a fine-tuned voice or style: files in the model's folder, found by name and never outside of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch

from ...mizuoto_runtime.errors import InvalidRequest, ModelFileError, did_you_mean
from ...mizuoto_runtime.loading.checkpoint import read_checkpoint
from ...mizuoto_runtime.loading.fields import mapping, positive, read_json
from ...mizuoto_runtime.nn.lora import Adapter
from .manifest import LORA_AUTO, LORA_OFF

_STEM, _CONFIG = "lora_weights", "lora_config.json"
_SUFFIXES = (".safetensors", ".ckpt", ".pth")
_DOWN, _UP = ".lora_A", ".lora_B"
_WRAPPER = "state_dict."
_ALPHA = 16.0  # the publisher's default, where the file beside the weights is missing


def find_lora(folder: Path, choice: str) -> Path | None:
    """The file of the adapter that the option `lora` asks for; None for no adapter.

    Args:
        folder: Of the model.
        choice: "auto" is `lora_weights` in the folder, if it is there; "off"; else a file in the folder, or a folder
            in it that holds `lora_weights`.

    Raises:
        InvalidRequest: There is no such file, or it lies outside the folder.
    """
    if choice.casefold() == LORA_OFF:
        return None
    if choice.strip().casefold() in ("", LORA_AUTO):
        return _inside(folder, folder)
    # Both systems' separators, drives and NUL, wherever the workflow was made.
    parts = Path(choice.replace("\\", "/")).parts
    place = folder.joinpath(*parts) if parts and not any(mark in choice for mark in ":\0") else folder
    root = folder.resolve()
    if place == folder or ".." in parts or not place.resolve().is_relative_to(root):
        raise InvalidRequest(f'lora is "{choice}"; it must be a file inside the folder of the model.')
    found = _inside(place, folder) if place.is_dir() else place if place.suffix in _SUFFIXES else None
    if found is None or not found.is_file():
        known = _available(folder)
        remedy = f"it has {', '.join(known)}" if known else "it has none: copy the adapter's folder into it"
        raise InvalidRequest(f'The model\'s folder has no adapter "{choice}"; {remedy}.{did_you_mean(choice, known)}')
    return found


def read_lora(path: Path) -> dict[str, Adapter]:
    """Layer of the talker -> what the file adds to it, on the CPU in float32.

    Raises:
        ModelFileError: The file is damaged, or holds something else.

    Source: load_lora_weights and LoRALinear, voxcpm 2.0.3.
    """
    tensors = {
        key.removeprefix(_WRAPPER): tensor
        for key, tensor in read_checkpoint(path, torch.float32)
        if key.endswith((_DOWN, _UP))
    }
    names = sorted({key.removesuffix(_DOWN).removesuffix(_UP) for key in tensors})
    if not names:
        raise ModelFileError(f'"{path.name}" is no adapter of VoxCPM: no tensor in it ends in "{_DOWN[1:]}".')
    alpha = _alpha(path.parent / _CONFIG)
    return {name: _adapter(name, tensors, alpha, path) for name in names}


def _adapter(name: str, tensors: Mapping[str, torch.Tensor], alpha: float, path: Path) -> Adapter:
    down, up = tensors.get(name + _DOWN), tensors.get(name + _UP)
    if down is None or up is None or down.dim() != 2 or up.dim() != 2 or not len(down):
        raise ModelFileError(f'"{path.name}" has only a part of the adapter of "{name}"; copy it again.')
    return Adapter(down, up, alpha / len(down))


def _alpha(config: Path) -> float:
    if not config.is_file():
        return _ALPHA
    found = read_json(config)
    return float(positive(mapping(found, "lora_config") if "lora_config" in found else found, "alpha", float))


def _inside(place: Path, folder: Path) -> Path | None:
    """The adapter that lies in `place`, which is `folder` or below it."""
    files = (place / f"{_STEM}{suffix}" for suffix in _SUFFIXES)
    return next((file for file in files if file.is_file() and file.resolve().is_relative_to(folder.resolve())), None)


def _available(folder: Path) -> list[str]:
    """What may be asked for, as it would be written."""
    below = [place.name for place in sorted(folder.iterdir()) if place.is_dir() and _inside(place, folder)]
    return below + [f"{_STEM}{suffix}" for suffix in _SUFFIXES if (folder / f"{_STEM}{suffix}").is_file()]
