"""What is loaded and where it is, as JSON-ready data (S169)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from .device import CPU, DeviceService
from .memory.handle import ModelHandle

if TYPE_CHECKING:
    from .runtime import Model

_SUMS = ("size_bytes", "loaded_bytes", "host_bytes", "streamed_bytes")


def describe_model(model: Model, now: float) -> dict[str, Any]:
    """One model with its components; `now` is on the clock of `last_used`, from which `unused_s` follows."""
    components = [describe_handle(handle, now) for handle in model.handles]
    return {
        "name": model.name,
        "busy": model.is_busy,
        "attention": model.attention.choice,
        "unused_s": _seconds(model.last_used, now),
        "cache_bytes": model.cache.num_bytes,
        **{key: sum(component[key] for component in components) for key in _SUMS},
        "components": components,
    }


def describe_handle(handle: ModelHandle, now: float) -> dict[str, Any]:
    """One component.

    Its `state` is "host" where it computes out of host memory and nothing moves, else "whole", "streams" or "away",
    by what is on the device.
    """
    return {
        "name": handle.name,
        "device": str(handle.load_device),
        "dtype": handle.dtype_name,
        "state": _state(handle),
        "busy": handle.is_busy,
        "unused_s": _seconds(handle.last_used, now),
        "size_bytes": handle.size_bytes,
        "loaded_bytes": handle.loaded_bytes,
        "host_bytes": handle.host_bytes,
        "streamed_bytes": handle.streamed_bytes,
        "partial": handle.partial.as_data() if handle.partial else None,
    }


def describe_devices(devices: DeviceService, models: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Free and total bytes of the devices that described models are loaded for, and of the CPU.

    Others are not asked: on some, being asked takes hundreds of megabytes.
    """
    names = dict.fromkeys(component["device"] for model in models for component in model["components"])
    found = []
    for name in dict.fromkeys([*names, str(CPU)]):
        free, total = devices.memory(torch.device(name))
        found.append({"name": name, "free_bytes": free, "total_bytes": total})
    return found


def _state(handle: ModelHandle) -> str:
    if not handle.is_managed:
        return "host"
    if handle.is_whole:
        return "whole"
    return "streams" if handle.is_ready else "away"


def _seconds(last_used: float, now: float) -> float | None:
    return round(max(0.0, now - last_used), 1) if last_used else None
