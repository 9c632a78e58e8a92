"""The doctor inside ComfyUI: what only the host can tell. Builds no runtime and initialises no device (S005)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import comfy.model_management as mm
import comfyui_version
from comfy.cli_args import args

from ... import engines
from ...mizuoto_runtime.doctor import Host, Section, examine
from ...mizuoto_runtime.doctor.gpus import Gpu
from . import flags, folders
from .memory import ComfyMemory
from .settings import preferences


def report(engine: str | None = None, self_test: bool = True) -> dict[str, Any]:
    """The doctor's report on this ComfyUI; on one engine only if `engine` is given, which must exist."""
    manifests = engines.manifests()
    chosen = manifests.values() if engine is None else [manifests[engine]]
    return examine(chosen, host(), self_test, saved=preferences().saved())


def host() -> Host:
    """This ComfyUI for the doctor."""
    return Host(
        f"ComfyUI {comfyui_version.__version__}", _section, ComfyMemory().vram_mode(), _models(), _memory_facts()
    )


def _section(gpus: Sequence[Gpu]) -> Section:
    facts = {
        "version": comfyui_version.__version__,
        "options": _options(),
        "vram_state": mm.vram_state.name,
        "cpu_state": mm.cpu_state.name,
        "allocator": _allocator(),
        "dynamic_vram": _dynamic_vram(),
    }
    return Section(facts, flags.findings(facts, gpus))


def _options() -> dict[str, Any]:
    """Those of the options that matter which differ from being off, as plain values."""
    values = {name: getattr(args, name, None) for name in flags.OPTIONS}
    return {name: _plain(value) for name, value in values.items() if value not in (None, False) and value != set()}


def _plain(value: Any) -> Any:
    if isinstance(value, set):
        return sorted(str(each.value if isinstance(each, Enum) else each) for each in value)
    return value


def _allocator() -> str:
    # ComfyUI writes its choice into the variable before torch starts, and a value already there stays beside it.
    names = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
    chosen = ",".join(filter(None, (os.environ.get(name) for name in names)))
    return "cudaMallocAsync" if args.cuda_malloc or "cudaMallocAsync" in chosen else "native"


def _dynamic_vram() -> bool | None:
    try:
        import comfy.memory_management
    except ImportError:  # before 0.12
        return None
    return bool(getattr(comfy.memory_management, "aimdo_enabled", False))


def _models() -> dict[str, dict[str, Path]]:
    found: dict[str, dict[str, Path]] = {}
    for model in folders.installed_models().values():
        if model.folder != model.manifest.built_in:
            found.setdefault(model.manifest.id, {})[model.name] = model.folder
    return found


def _memory_facts() -> dict[str, object]:
    limit = getattr(mm, "MAX_PINNED_MEMORY", -1)  # 0.3.68 on; -1 where nothing is pinned
    return {
        "host_pinning_budget_bytes": max(0, int(limit)),
        "host_pinned_bytes": max(0, int(getattr(mm, "TOTAL_PINNED_MEMORY", 0))),
        "host_copy_streams": int(getattr(mm, "NUM_STREAMS", 0)),
    }
