"""Prints the accelerators that torch can use, one JSON object a line; `describe` serves a process that has torch."""

from __future__ import annotations

import importlib
import json
import sys
from types import ModuleType
from typing import Any


def describe(torch: ModuleType, only_in_use: bool) -> list[dict[str, Any]]:
    """Facts of every CUDA, ROCm, XPU and MPS device, as keyword arguments of `Gpu`.

    Args:
        torch: The imported module.
        only_in_use: Look only at backends that this process uses already, and at free memory only where it already
            has a context, so that nothing is initialised by looking.
    """
    found = []
    for kind in ("cuda", "xpu"):
        backend = getattr(torch, kind, None)
        if backend is None or not (backend.is_initialized() if only_in_use else backend.is_available()):
            continue
        for index in range(backend.device_count()):
            found.append(_describe_one(torch, backend, kind, index, only_in_use))
    if not only_in_use and torch.backends.mps.is_available():
        total = int(torch.mps.recommended_max_memory())
        found.append({"device": "mps", "vendor": "apple", "name": "Apple GPU", "total_bytes": total})
    return found


def _describe_one(torch: ModuleType, backend: Any, kind: str, index: int, only_in_use: bool) -> dict[str, Any]:
    properties = backend.get_device_properties(index)
    is_amd = kind == "cuda" and torch.version.hip is not None
    architecture = ""
    if is_amd:
        architecture = str(getattr(properties, "gcnArchName", "")).partition(":")[0]
    elif kind == "cuda":
        architecture = f"{properties.major}.{properties.minor}"
    has_context = not only_in_use or index == backend.current_device()
    return {
        "device": f"{kind}:{index}",
        "vendor": "amd" if is_amd else "nvidia" if kind == "cuda" else "intel",
        "name": str(properties.name),
        "total_bytes": int(properties.total_memory),
        "free_bytes": int(backend.mem_get_info(index)[0]) if has_context else None,
        "architecture": architecture,
    }


if __name__ == "__main__":
    for facts in describe(importlib.import_module("torch"), only_in_use=False):
        sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.write(json.dumps({"done": True}) + "\n")
