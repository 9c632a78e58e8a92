"""Where models lie: `models/tts`, other folders that people keep such models in, and every path configured for them."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import folder_paths

from ... import engines
from ...engines.base import Download, Manifest
from ...mizuoto_runtime.errors import InvalidRequest, ModelFileError, did_you_mean

_KEYS = ("tts", "TTS")
_LISTENING_KEYS = ("stt", "STT", "asr", "ASR", "whisper", "Whisper", "qwen-asr", "Qwen3-ASR")  # of recognition models
_DEPTH = 3
_TO_FETCH = " (download)"
_SHARED = ("Qwen3-TTS-Tokenizer-12Hz", "vocos-mel-24khz")  # folders that lie beside models and are part of each
_CACHE_S = 2.0  # the list is asked for at every validation; a fresh folder shows up with the next refresh


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A checkpoint that some engine recognises."""

    name: str
    folder: Path
    manifest: Manifest


@dataclass(frozen=True, slots=True)
class MissingModel:
    """An official checkpoint that is not installed and may be fetched: the user asked for "<name> (download)"."""

    name: str
    download: Download
    manifest: Manifest

    @property
    def choice(self) -> str:
        """What a user chooses to have it fetched."""
        return f"{self.name}{_TO_FETCH}"


_cache: tuple[float, dict[str, InstalledModel]] | None = None


def register_folders() -> None:
    """Make `models/tts` known to ComfyUI as the default place and create it; called once when the pack is loaded."""
    default = os.path.join(folder_paths.models_dir, "tts")
    folder_paths.add_model_folder_path("tts", default, is_default=True)
    with suppress(OSError):  # a read-only models folder is no reason not to speak
        os.makedirs(default, exist_ok=True)


def default_root() -> Path:
    """The folder that downloads go to; it may not exist."""
    return Path(folder_paths.get_folder_paths("tts")[0])


def roots() -> list[Path]:
    """Every existing folder that is searched, the default one first."""
    in_models = [os.path.join(folder_paths.models_dir, key) for key in ("TTS", *_LISTENING_KEYS)]
    candidates = [*_configured(_KEYS), *_configured(_LISTENING_KEYS), *in_models]
    unique: dict[str, Path] = {}
    for path in filter(os.path.isdir, candidates):
        unique.setdefault(os.path.normcase(os.path.realpath(path)), Path(path))
    return list(unique.values())


def _configured(keys: Iterable[str]) -> Iterator[str]:
    """The paths that ComfyUI has been told for these kinds of models, in `extra_model_paths.yaml` for example."""
    for key in keys:
        if key in folder_paths.folder_names_and_paths:
            yield from folder_paths.get_folder_paths(key)


def installed_models() -> dict[str, InstalledModel]:
    """Name -> model: the built-in ones, then every recognised folder; of two with the same name the first root's."""
    global _cache
    now = time.monotonic()
    if _cache is None or now - _cache[0] > _CACHE_S:
        _cache = (now, _find())
    return _cache[1]


def refresh() -> None:
    """Look through the folders again at the next question: something was just put there."""
    global _cache
    _cache = None


def model_choices() -> list[str]:
    """What a user may choose: every installed model, then "<name> (download)" for every other official checkpoint."""
    fetchable = [missing.choice for name, missing in official_models().items() if installed_as(name) is None]
    return [*installed_models(), *fetchable]


def find_model(name: str) -> InstalledModel | MissingModel:
    """The model that was chosen as `name`; looks at the disk only.

    A "(download)" that has become a folder since is that folder, wherever in the roots it lies.

    Raises:
        InvalidRequest: There is none; the text says where it was looked for and what there is, or how to get it.
    """
    name = str(name)  # API users may send anything
    found = installed_models().get(name)
    if found is not None:
        return found
    _refuse_unknown_folder(name)
    missing = official_models().get(name.removesuffix(_TO_FETCH))
    if missing is not None:
        return installed_as(missing.name) or _to_be_fetched(missing, name.endswith(_TO_FETCH))
    raise InvalidRequest(
        f'Model "{name}" is not installed: no such folder in {_places()}. '
        f"Copy it there, or choose one of: {', '.join(model_choices())}.{did_you_mean(name, model_choices())}"
    )


def official_models() -> dict[str, MissingModel]:
    """Name -> every official checkpoint, whether it is installed or not."""
    return {
        download.name: MissingModel(download.name, download, manifest)
        for manifest in engines.manifests().values()
        for download in manifest.downloads
    }


def installed_as(name: str) -> InstalledModel | None:
    """The installed model whose folder is called `name`, in whatever folder that lies."""
    return next((model for model in installed_models().values() if model.folder.name == name), None)


def incomplete(missing: MissingModel) -> ModelFileError:
    """Why a download is of no use whose folder is there and is not recognised."""
    return ModelFileError(
        f'"{shown(default_root())}/{missing.name}" is there but holds no complete {missing.manifest.name} '
        f'model; move it away and choose "{missing.choice}" again.'
    )


def shown(root: Path) -> str:
    """One of the roots as a person knows it: "models/tts"."""
    return f"{root.parent.name}/{root.name}"


def size_bytes(folder: Path) -> int:
    """Of the files in `folder` and below it, as deep as models are looked for."""
    return sum(size for _, size, _ in _facts(folder, _DEPTH))


def fingerprint(folder: Path) -> str:
    """Changes when a file in `folder`, below it or in a shared folder beside it is replaced; never raises (P75)."""
    facts = [*_facts(folder, _DEPTH), *(fact for name in _SHARED for fact in _facts(folder.parent / name, 1))]
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def _facts(folder: Path, depth: int) -> Iterator[tuple[str, int, int]]:
    try:
        children = sorted(os.scandir(folder), key=lambda child: child.name)
    except OSError:
        return
    for child in children:
        with suppress(OSError):
            if not child.is_dir():
                status = child.stat()
                yield child.path, status.st_size, status.st_mtime_ns
            elif depth > 1:  # links are followed, so only the depth ends a circle
                yield from _facts(Path(child.path), depth - 1)


def _refuse_unknown_folder(name: str) -> None:
    place = next((root / name for root in roots() if (root / name).parent == root and (root / name).is_dir()), None)
    if place is not None:
        raise InvalidRequest(
            f'"{place.parent.name}/{name}" is there, but no engine knows what it is: its config.json or its '
            "weights are missing, damaged or of another model. Copy the whole folder again, as its publisher offers it."
        )


def _to_be_fetched(missing: MissingModel, is_asked_for: bool) -> MissingModel:
    if is_asked_for:
        return missing
    raise InvalidRequest(
        f'Model "{missing.name}" is not installed: choose "{missing.choice}" to fetch it '
        f"({missing.download.size_bytes / 1e9:.1f} GB, licence {missing.manifest.weights_license}), "
        f"or copy its folder into one of {_places()}."
    )


def _places() -> str:
    return ", ".join(f'"{shown(root)}"' for root in roots())


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
