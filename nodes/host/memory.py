"""ComfyUI as the memory host: `MemoryHost` over `comfy.model_management`.

Functions are called through the module at run time, never bound early: other packs replace them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from weakref import WeakSet

import comfy.model_management as mm
import torch

from ...mizuoto_runtime.errors import OutOfDeviceMemory
from ...mizuoto_runtime.memory.handle import ModelHandle
from .patcher import HandlePatcher

_MODES = {"HIGH_VRAM": "high", "SHARED": "shared", "LOW_VRAM": "low", "NO_VRAM": "none"}


class HostOutOfDeviceMemory(OutOfDeviceMemory, mm.OOM_EXCEPTION):
    """Makes ComfyUI's executor unload every model before it reports the error (K2)."""


class ComfyMemory:
    """Implements `MemoryHost`: ComfyUI evicts our handles for its own models, and the other way round."""

    def __init__(self) -> None:
        self._handles: WeakSet[ModelHandle] = WeakSet()

    def vram_mode(self) -> str:
        """The mode that ComfyUI's own state stands for (M10)."""
        return _MODES.get(mm.vram_state.name, "auto")

    def register(self, handle: ModelHandle) -> None:
        """Give the handle its patcher; where nothing has to move there is nothing to register."""
        if handle.is_managed:
            handle.attachment = HandlePatcher(handle)
            self._handles.add(handle)

    def place(self, handles: Sequence[ModelHandle], working_bytes: int) -> None:
        """See `MemoryHost.place`."""
        managed = [handle for handle in handles if handle.is_managed]
        if not managed:
            return
        # Models of one call never evict each other, so whatever is busy must be part of the call.
        together = list(dict.fromkeys([*managed, *self._busy()]))
        mm.load_models_gpu([handle.attachment for handle in together], memory_required=working_bytes)
        for handle in managed:
            if not handle.is_ready:  # ComfyUI's estimate granted less than it takes to run: try all the same (S111)
                handle.place(max(0, handle.minimum_bytes - handle.loaded_bytes))
            if handle.partial or not handle.is_whole:  # asking the driver for free memory costs as much as the rest
                free_bytes = int(mm.get_free_memory(handle.load_device))
                handle.explain(free_bytes, working_bytes, int(mm.extra_reserved_memory()))

    def make_room(self, device: torch.device, keep: Sequence[ModelHandle]) -> None:
        """See `MemoryHost.make_room`."""
        kept = [handle for handle in dict.fromkeys([*keep, *self._busy()]) if handle.is_managed]
        mm.free_memory(1e30, device, keep_loaded=[mm.LoadedModel(handle.attachment) for handle in kept])
        mm.soft_empty_cache()

    def release(self, handle: ModelHandle) -> int:
        """See `MemoryHost.release`."""
        if handle.is_busy or not handle.is_managed:
            return 0
        before = handle.loaded_bytes
        for entry in [entry for entry in mm.current_loaded_models if entry.model is handle.attachment]:
            with suppress(ValueError):  # ComfyUI's worker may have taken it off the list meanwhile
                mm.current_loaded_models.remove(entry)
            entry.model_unload()
        handle.release()
        if before:
            mm.soft_empty_cache()
        return before

    def out_of_memory(self, message: str, detail: dict[str, Any]) -> OutOfDeviceMemory:
        """An error that ComfyUI recognises as out of memory."""
        return HostOutOfDeviceMemory(message, detail)

    def _busy(self) -> list[ModelHandle]:
        return [handle for handle in self._handles if handle.is_busy]
