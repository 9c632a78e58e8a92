"""The voice library: `.safetensors` files in `models/voices` and every path configured under that name."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

import folder_paths
import torch
from safetensors import SafetensorError

from ...engines.artifacts import VoicePrompt
from ...mizuoto_runtime.errors import InvalidRequest, ModelFileError, did_you_mean

_KEY = "voices"
_SUFFIX = ".safetensors"
_MAX_NAME = 100
_MAX_NAME_BYTES = 200  # file systems count bytes, and the suffixes need some
# What some system cannot store, and what would leave the folder.
_FORBIDDEN = re.compile(r'[\x00-\x1f\ud800-\udfff<>:"/\\|?*]|^\.|[. ]$|^ ')
_RESERVED = re.compile(r"^(con|prn|aux|nul|com\d|lpt\d)(\..*)?$", re.IGNORECASE)


def register_voices() -> None:
    """Make `models/voices` known to ComfyUI and create it; called once when the pack is loaded."""
    default = os.path.join(folder_paths.models_dir, _KEY)
    folder_paths.add_model_folder_path(_KEY, default, is_default=True)
    with suppress(OSError):
        os.makedirs(default, exist_ok=True)


def saved_voices() -> dict[str, Path]:
    """Name -> file; of two with the same name the first folder's."""
    found: dict[str, Path] = {}
    for root in folder_paths.get_folder_paths(_KEY):
        with suppress(OSError):
            for file in sorted(Path(root).iterdir()):
                if file.suffix == _SUFFIX and file.is_file():
                    found.setdefault(file.stem, file)
    return found


def load_voice(name: str) -> VoicePrompt:
    """The saved voice called `name`.

    Raises:
        InvalidRequest: There is none.
        ModelFileError: Its file is damaged or something else.
    """
    found = saved_voices()
    if name not in found:
        raise InvalidRequest(
            f'There is no voice "{name[:_MAX_NAME]}" in models/voices; save it with a Save Voice node, '
            f"or choose another.{did_you_mean(name, found)}"
        )
    return VoicePrompt.load(found[name])


def fingerprint(name: str) -> str:
    """Changes when the file of a voice is replaced; never raises."""
    with suppress(OSError, KeyError):
        status = saved_voices()[name].stat()
        return f"{status.st_size}/{status.st_mtime_ns}"
    return ""


def save_voice(voice: VoicePrompt, name: str) -> str:
    """Write `voice` into the default folder and return the name that it got: a number is added to one that is taken.

    The voice inside keeps its own name, by which an engine knows a preset.

    Raises:
        InvalidRequest: `name` cannot be the name of a file.
        ModelFileError: The folder cannot be written.
    """
    root = Path(folder_paths.get_folder_paths(_KEY)[0])
    stem = check_name(name)
    written = root / f".{stem}{_SUFFIX}.part"
    try:
        root.mkdir(parents=True, exist_ok=True)
        voice.save(written)
        target, number = root / f"{stem}{_SUFFIX}", 1
        while target.exists() and not _holds(target, voice):
            number += 1
            target = root / f"{stem}_{number}{_SUFFIX}"
        os.replace(written, target)
    except (OSError, SafetensorError) as error:
        raise ModelFileError(
            f'"{root.parent.name}/{root.name}" cannot be written ({error}); look at its rights and at the free space.'
        ) from error
    finally:
        with suppress(OSError):
            written.unlink(missing_ok=True)
    return target.stem


def _holds(file: Path, voice: VoicePrompt) -> bool:
    """Whether a file has this very voice in it."""
    try:
        saved = VoicePrompt.load(file)
    except ModelFileError:
        return False
    return _words_of(saved) == _words_of(voice) and all(
        torch.equal(tensor, voice.tensors[name].cpu()) for name, tensor in saved.tensors.items()
    )


def _words_of(voice: VoicePrompt) -> tuple[object, ...]:
    return voice.engine, voice.name, dict(voice.facts), voice.tensors.keys()


def check_name(name: str) -> str:
    """`name` if every system can store a file of that name, and only in its own folder.

    Raises:
        InvalidRequest: It is empty, too long, or has characters that lead elsewhere.
    """
    is_storable = name and not (_FORBIDDEN.search(name) or _RESERVED.match(name))
    if not is_storable or len(name) > _MAX_NAME or len(name.encode()) > _MAX_NAME_BYTES:
        raise InvalidRequest(
            f'"{name[:_MAX_NAME]}" cannot be the name of a voice: use up to {_MAX_NAME} letters, digits, spaces, '
            "dots, dashes and underscores."
        )
    return name
