"""Whether an engine can be used here, and what it lacks (S094); asks its manifest, never its code."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from . import probe
from .child import imports
from .finding import Section
from .fit import python
from .gpus import Gpu
from .packages import install_arguments

REQUIRED = ("torch", "numpy", "safetensors")
IMPORT_TIMEOUT_S = 60.0
_MAX_HEADER_BYTES = 100_000_000  # the format's own limit


class Model(Protocol):
    """An official checkpoint."""

    @property
    def name(self) -> str:
        """Shown to users."""

    @property
    def repo(self) -> str:
        """`owner/name` on the Hugging Face hub."""


class EngineFacts(Protocol):
    """What the doctor reads of an engine's manifest."""

    @property
    def id(self) -> str:
        """The engine's id."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """What it can do."""

    @property
    def code_license(self) -> str:
        """SPDX name."""

    @property
    def weights_license(self) -> str:
        """SPDX name."""

    @property
    def weights_source(self) -> str:
        """Where its checkpoints come from."""

    @property
    def languages(self) -> tuple[str, ...]:
        """BCP 47 tags."""

    @property
    def dtypes(self) -> tuple[str, ...]:
        """What it computes in on accelerators."""

    @property
    def downloads(self) -> Sequence[Model]:
        """Official checkpoints that the loader can fetch."""

    @property
    def built_in(self) -> Path | None:
        """Folder of the checkpoint in the pack."""

    @property
    def recognise(self) -> Callable[[Path], bool]:
        """Whether a folder holds a checkpoint of it."""

    @property
    def extras(self) -> Sequence[tuple[str, str, str]]:
        """(import name, what it is for, what pip is told or "") of optional packages."""


def engine_section(
    manifest: EngineFacts,
    gpus: Sequence[Gpu],
    models: Mapping[str, Path] | None,
    import_failures: Callable[[Sequence[str]], Mapping[str, str]],
) -> Section:
    """One engine.

    Args:
        manifest: Its manifest.
        gpus: What this machine has; every engine runs on all of them and on the CPU (S188).
        models: Its installed checkpoints by name; None where nothing knows model folders (outside ComfyUI).
        import_failures: See the function of that name.
    """
    lacks: list[str] = []
    section = Section(
        {
            "usable": False,
            "lacks": lacks,
            "tasks": list(manifest.tasks),
            "languages": list(manifest.languages),
            "devices": [*(gpu.device for gpu in gpus), "cpu"],
            "dtypes": {"cpu": ["fp32"], **({"gpu": list(manifest.dtypes)} if gpus else {})},
            "code_license": manifest.code_license,
            "weights_license": manifest.weights_license,
            "weights_source": manifest.weights_source,
        }
    )
    usable = _built_in(section, manifest)
    usable += _installed(section, manifest, models)
    _extras(section, manifest, import_failures([name for name, *_ in manifest.extras]))
    lacks += missing_packages()
    is_unknown = not usable and models is None and manifest.built_in is None
    if not usable and not is_unknown:
        lacks.append("a checkpoint")
        section.add("info", f"There is no checkpoint of {manifest.id} yet.", "", _where_to_get(manifest))
    section.facts["usable"] = None if is_unknown and not lacks else not lacks
    if is_unknown:
        what = f"{manifest.id} {'cannot' if lacks else 'can'} run here; whether it has a checkpoint is not known."
        section.add("info", what, "Only inside ComfyUI can the doctor look into the model folders.")
    elif not lacks:
        section.add("ok", f"{manifest.id} can be used.")
    return section


def import_failures(
    names: Sequence[str], library: str = "", really: bool = True, environment: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Package -> why it cannot be imported, empty where it can.

    Args:
        names: Import names.
        library: As for `probe.ask_python`.
        really: Whether to import those that are found, in a second process; finding them is all otherwise.
        environment: As for `probe.ask_python`.
    """
    failures = {name: "" if _is_importable(name) else "it is not installed" for name in names}
    found = [name for name, failure in failures.items() if not failure]
    if not really or not found:
        return failures
    answer = probe.ask_python(
        Path(imports.__file__), *found, library=library, environment=environment, timeout_s=IMPORT_TIMEOUT_S
    )
    tried = {line.get("name"): str(line.get("error")) for line in probe.json_lines(answer.text)}
    # One that ended the process has no line; so have those after it.
    return failures | {name: tried.get(name, answer.error or "no result") for name in found}


def missing_packages() -> list[str]:
    """What every engine needs and this Python does not have."""
    return [name for name in REQUIRED if not _is_importable(name)]


def checkpoint_problem(files: Iterable[Path]) -> str:
    """What is wrong with the first damaged safetensors file of `files`; empty where all are whole."""
    for file in files:
        try:
            size = file.stat().st_size
            with file.open("rb") as stream:
                length = int.from_bytes(stream.read(8), "little")
                if size < 8 or length > min(size - 8, _MAX_HEADER_BYTES):
                    return f'"{file.name}" is no safetensors file or was cut off'
                header = json.loads(stream.read(length))
            ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
            if max(ends, default=0) != size - 8 - length:
                return f'"{file.name}" has {size} bytes where {8 + length + max(ends, default=0)} are expected'
        except OSError as error:
            return f'"{file.name}" cannot be read: {error.strerror or error}'
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            return f'"{file.name}" has a damaged header'
    return ""


def _built_in(section: Section, manifest: EngineFacts) -> list[str]:
    if manifest.built_in is None:
        return []
    files = _weights(manifest.built_in)
    section.facts["built_in"] = [{"file": file.name, "size_bytes": _size(file)} for file in files]
    problem = "" if files and manifest.recognise(manifest.built_in) else "its files are missing"
    problem = problem or checkpoint_problem(files)
    if problem:
        section.add(
            "error",
            f"The built-in checkpoint of {manifest.id} is damaged: {problem}.",
            "The pack was not copied completely, or git has left a placeholder in its place.",
            "Install the pack again: git -C <its folder> checkout -- .",
        )
    return [] if problem else ["built in"]


def _installed(section: Section, manifest: EngineFacts, models: Mapping[str, Path] | None) -> list[str]:
    section.facts["models"] = None if models is None else sorted(models)
    whole = []
    for name, folder in sorted((models or {}).items()):
        problem = checkpoint_problem(_weights(folder))
        if problem:
            section.add("warning", f'Model "{name}" is damaged: {problem}.', "", "Download or copy it again.")
        else:
            whole.append(name)
    return whole


def _where_to_get(manifest: EngineFacts) -> str:
    if not manifest.downloads:
        return f"Get one from {manifest.weights_source} and copy its folder into models/tts."
    first = manifest.downloads[0]
    return (
        f'Choose "{first.name} (download)" or another in Load Speech Model, or get the files yourself '
        f"from https://huggingface.co/{first.repo} and put them into models/tts/{first.name}."
    )


def _extras(section: Section, manifest: EngineFacts, failures: Mapping[str, str]) -> None:
    section.facts["extras"] = [
        {"name": name, "for": purpose, "importable": not failures[name]} for name, purpose, _ in manifest.extras
    ]
    for name, purpose, install in manifest.extras:
        if failures[name]:
            what = f"The optional package {name} cannot be imported: {failures[name]}."
            command = f"{python()} -m pip install {install_arguments(name, install, failures[name])}"
            section.add("info", what, f"It is for {purpose}.", command)


def _is_importable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _weights(folder: Path) -> list[Path]:
    try:
        return sorted(file for file in folder.iterdir() if file.suffix == ".safetensors")
    except OSError:
        return []


def _size(file: Path) -> int | None:
    try:
        return os.stat(file).st_size
    except OSError:
        return None
