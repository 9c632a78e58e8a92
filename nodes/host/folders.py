"""Where models lie: `models/tts`, `models/TTS` and every path configured under those names."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import folder_paths

from ... import engines
from ...engines.base import Manifest
from ...mizuoto_runtime.errors import InvalidRequest

_KEYS = ("tts", "TTS")
_DEPTH = 3
_CACHE_S = 2.0  # the list is asked for at every validation; a fresh folder shows up with the next refresh


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A checkpoint that some engine recognises."""

    name: str
    folder: Path
    manifest: Manifest


_cache: tuple[float, dict[str, InstalledModel]] | None = None


def register_folders() -> None:
    """Make `models/tts` known to ComfyUI as the default place and create it; called once when the pack is loaded."""
    default = os.path.join(folder_paths.models_dir, "tts")
    folder_paths.add_model_folder_path("tts", default, is_default=True)
    with suppress(OSError):  # a read-only models folder is no reason not to speak
        os.makedirs(default, exist_ok=True)


def roots() -> list[Path]:
    """Every existing folder that is searched, the default one first."""
    configured = [
        path
        for key in _KEYS
        if key in folder_paths.folder_names_and_paths
        for path in folder_paths.get_folder_paths(key)
    ]
    candidates = [*configured, os.path.join(folder_paths.models_dir, "TTS")]
    unique: dict[str, Path] = {}
    for path in filter(os.path.isdir, candidates):
        unique.setdefault(os.path.normcase(os.path.realpath(path)), Path(path))
    return list(unique.values())


def installed_models() -> dict[str, InstalledModel]:
    """Name -> model: the built-in ones, then every recognised folder; of two with the same name the first root's."""
    global _cache
    now = time.monotonic()
    if _cache is None or now - _cache[0] > _CACHE_S:
        _cache = (now, _find())
    return _cache[1]


def find_model(name: str) -> InstalledModel:
    """The installed model called `name`.

    Raises:
        InvalidRequest: There is none; the text says where it was looked for and what there is.
    """
    found = installed_models().get(str(name))  # API users may send anything
    if found is None:
        places = ", ".join(f'"{root.parent.name}/{root.name}"' for root in roots())
        raise InvalidRequest(
            f'Model "{name}" is not installed: no such folder in {places}. '
            f"Copy it there, or choose one of: {', '.join(installed_models())}."
        )
    return found


def fingerprint(folder: Path) -> str:
    """Changes when a file in `folder` is replaced; never raises (P75)."""
    facts = []
    with suppress(OSError):
        for file in sorted(folder.iterdir()):
            status = file.stat()
            facts.append((file.name, status.st_size, status.st_mtime_ns))
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def _find() -> dict[str, InstalledModel]:
    models: dict[str, InstalledModel] = {}
    for manifest in engines.manifests().values():
        if manifest.built_in is not None:
            name = f"{manifest.id} (built-in)"
            models[name] = InstalledModel(name, manifest.built_in, manifest)
    for root in roots():
        for name, folder, manifest in _recognised(root, "", _DEPTH):
            models.setdefault(name, InstalledModel(name, folder, manifest))
    return models


def _recognised(folder: Path, prefix: str, depth: int) -> Iterator[tuple[str, Path, Manifest]]:
    try:
        children = sorted(child for child in folder.iterdir() if child.is_dir() and not child.name.startswith("."))
    except OSError:
        return
    for child in children:
        name = f"{prefix}{child.name}"
        manifest = engines.recognise(child)
        if manifest is not None:
            yield name, child, manifest
        elif depth > 1:
            yield from _recognised(child, f"{name}/", depth - 1)
