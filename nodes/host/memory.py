"""ComfyUI as the memory host: `MemoryHost` over `comfy.model_management`.

Functions are called through the module at run time, never bound early: other packs replace them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import comfy.model_management as mm
import torch
from comfy.cli_args import args

from ...mizuoto_runtime.errors import OutOfDeviceMemory
from ...mizuoto_runtime.journal import nothing
from ...mizuoto_runtime.memory.handle import ModelHandle
from ...mizuoto_runtime.memory.host import hold
from ...mizuoto_runtime.memory.shortage import Shortages
from .patcher import HandlePatcher

GB = 1 << 30
_MODES = {"HIGH_VRAM": "high", "SHARED": "shared", "LOW_VRAM": "low", "NO_VRAM": "none"}


class HostOutOfDeviceMemory(OutOfDeviceMemory, mm.OOM_EXCEPTION):
    """Makes ComfyUI's executor unload every model before it reports the error (K2)."""


class ComfyMemory:
    """Implements `MemoryHost`: ComfyUI evicts our handles for its own models, and the other way round.

    Args:
        on_evicted: Called after ComfyUI took weights off a device.
    """

    def __init__(self, on_evicted: Callable[[], object] = nothing) -> None:
        self._on_evicted = on_evicted
        self._shortages = Shortages()
        self._busy: list[ModelHandle] = []  # those of the phases under way; one that is used twice stands here twice

    def vram_mode(self) -> str:
        """The mode that ComfyUI's own state stands for (M10)."""
        return _MODES.get(mm.vram_state.name, "auto")

    def kept_ram_bytes(self, wanted_bytes: int) -> int:
        """Half of what ComfyUI's cache of results keeps free, if it watches RAM: that cache gives way first (K8)."""
        headroom = _cache_headroom_bytes()
        return min(wanted_bytes, headroom // 2) if headroom else wanted_bytes

    def register(self, handle: ModelHandle) -> None:
        """Give the handle its patcher; where nothing has to move there is nothing to register."""
        if handle.is_managed:
            handle.attachment = HandlePatcher(handle, self._on_evicted)

    def place(self, handles: Sequence[ModelHandle], working_bytes: int) -> None:
        """See `MemoryHost.place`."""
        managed = [handle for handle in handles if handle.is_managed]
        if not managed:
            return
        # Models of one call never evict each other, so whatever is busy must be part of the call.
        together = managed
        if self._busy:
            together = [handle for handle in dict.fromkeys([*managed, *self._busy]) if handle.is_managed]
        mm.load_models_gpu([handle.attachment for handle in together], memory_required=working_bytes)
        for handle in managed:
            if handle.is_whole and handle.partial is None:
                continue
            self._complete(handle, working_bytes)
            # Asking the driver for free memory costs as much as everything else here.
            free_bytes = int(mm.get_free_memory(handle.load_device))
            handle.explain(free_bytes, working_bytes, int(mm.extra_reserved_memory()))

    def _complete(self, handle: ModelHandle, working_bytes: int) -> None:
        """Where ComfyUI's estimate granted less than it takes to run: try all the same (S111)."""
        if handle.is_ready:
            return
        free_bytes = int(mm.get_free_memory(handle.load_device))
        self._shortages.note([handle], working_bytes, free_bytes, int(mm.extra_reserved_memory()))
        handle.place(max(0, handle.minimum_bytes - handle.loaded_bytes))

    def enter(
        self, handles: Sequence[ModelHandle], working_bytes: int, check: Callable[[], None]
    ) -> Callable[[], object]:
        """See `MemoryHost.enter`; never waits, since ComfyUI runs one prompt at a time (K5)."""
        self.place(handles, working_bytes)
        let_go = hold(handles, check)  # only now: while it is placed, ComfyUI may shrink it
        self._busy += handles

        def leave() -> None:
            for handle in handles:
                self._busy.remove(handle)
            let_go()

        return leave

    def make_room(self, device: torch.device, keep: Sequence[ModelHandle]) -> None:
        """See `MemoryHost.make_room`."""
        kept = [handle for handle in dict.fromkeys([*keep, *self._busy]) if handle.is_managed]
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


def _cache_headroom_bytes() -> int:
    """Below how much free RAM ComfyUI's cache lets go of results; 0 if it does not look."""
    if args.cache_lru > 0 or args.cache_none or getattr(args, "cache_classic", False):
        return 0
    asked = args.cache_ram
    if not isinstance(asked, list):  # until 0.19 a number, and off unless it is given
        return int(asked * GB)
    return int((asked[0] if asked else min(10.0, max(2.0, mm.total_ram * 0.10 / 1024))) * GB)
