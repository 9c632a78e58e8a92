"""The whole examination, as data."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from .. import VERSION
from ..settings import Value
from . import attention, build, engine, fit, hardware, memory
from .build import TorchBuild
from .finding import Section, worst
from .gpus import Gpu
from .hardware import Hardware

SCHEMA_VERSION = "1.0"


@dataclass(frozen=True, slots=True)
class Host:
    """What only ComfyUI can tell.

    Attributes:
        name: Such as "ComfyUI 0.3.75".
        section: Its own part of the report, given the GPUs.
        vram_mode: The mode that its state stands for.
        models: Engine id -> name -> folder of the installed checkpoints.
        memory: Further facts for the memory section.
    """

    name: str
    section: Callable[[Sequence[Gpu]], Section]
    vram_mode: str
    models: Mapping[str, Mapping[str, Path]]
    memory: Mapping[str, object] = field(default_factory=dict)


def examine(
    manifests: Iterable[engine.EngineFacts],
    host: Host | None = None,
    self_test: bool = True,
    environment: Mapping[str, str] | None = None,
    saved: Mapping[str, Value] | None = None,
) -> dict[str, Any]:
    """Everything the doctor knows, as plain values; never raises.

    Args:
        manifests: The engines to look at.
        host: ComfyUI, if this process is one.
        self_test: Whether to try, in a second process, what torch sees and what the attention packages compute.
        environment: Variables to go by; the process's own by default.
        saved: What the user's file of settings sets, by key.
    """
    environment = os.environ if environment is None else environment
    sections: dict[str, Section] = {}
    installed: TorchBuild | None = None
    found = Hardware()
    settings = None

    with _part(sections, "system"):
        sections["system"] = _system(host)
    with _part(sections, "hardware"):
        installed = build.installed_torch()
        found = hardware.find_hardware(installed, environment)
        sections["hardware"] = fit.hardware_section(found, environment)
    with _part(sections, "torch"):
        seen = _ask(installed, found, environment) if self_test else None
        is_loaded = build.loaded_torch() is not None
        sections["torch"] = fit.torch_section(installed, found, is_loaded, seen)
    with _part(sections, "attention"):
        sections["attention"] = attention.attention_section(installed, found.gpus, self_test, environment)
    with _part(sections, "settings"):
        sections["settings"], settings = memory.settings_section(environment, saved)
    if settings is not None:
        with _part(sections, "memory"):
            facts = host.memory if host else {}
            mode = host.vram_mode if host else None
            shares = any(gpu.vendor == "apple" for gpu in found.gpus)
            sections["memory"] = memory.memory_section(settings, mode, facts, shares)
    if host is not None:
        with _part(sections, "host"):
            sections["host"] = host.section(found.gpus)
    library = installed.folder if installed else ""
    failures_of = partial(engine.import_failures, library=library, really=self_test, environment=environment)
    for manifest in manifests:
        with _part(sections, f"engine {manifest.id}"):
            models = host.models.get(manifest.id, {}) if host else None
            sections[f"engine {manifest.id}"] = engine.engine_section(manifest, found.gpus, models, failures_of)
    return _as_report(sections)


def levels(report: Mapping[str, Any]) -> list[str]:
    """The levels of all findings of a report."""
    return [finding["level"] for section in report["sections"].values() for finding in section["findings"]]


class _part:  # noqa: N801 - reads as the keyword it serves
    """Makes a section and turns whatever goes wrong in it into a finding: the doctor must not be a patient."""

    def __init__(self, sections: dict[str, Section], name: str) -> None:
        self.sections, self.name = sections, name

    def __enter__(self) -> Section:
        return self.sections.setdefault(self.name, Section())

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if not isinstance(error, Exception):
            return False
        what = f"This part could not be examined: {type(error).__name__}: {error}"
        self.sections[self.name].add("warning", what, "", "Please report it with this text.")
        return True


def _ask(installed: TorchBuild | None, found: Hardware, environment: Mapping[str, str]) -> list[Gpu] | str | None:
    """What torch sees, where the drivers' tools spoke for it and it could tell more."""
    if installed is None or installed.kind == "cpu" or not found.gpus or found.found_by.startswith("torch"):
        return None
    return hardware.ask_torch(installed, environment)


def _system(host: Host | None) -> Section:
    section = Section(
        {
            "mizuoto": VERSION,
            "host": host.name if host else None,
            "python": platform.python_version(),
            "executable": sys.executable,
            "os": f"{platform.system()} {platform.release()}",
            "machine": platform.machine(),
            "cpu_cores": os.cpu_count(),
            "packages": {
                name: attention.installed_version(name) or None for name in engine.REQUIRED if name != "torch"
            },
        }
    )
    for name in engine.missing_packages():
        if name != "torch":  # which has a section of its own
            command = f"{fit.python()} -m pip install {name}"
            section.add("error", f"The package {name} is not installed.", "Every engine needs it.", command)
    return section


def _as_report(sections: Mapping[str, Section]) -> dict[str, Any]:
    report = {
        "schema_version": SCHEMA_VERSION,
        "level": "ok",
        "sections": {name: section.as_json() for name, section in sections.items()},
    }
    report["level"] = worst(levels(report))
    return report
