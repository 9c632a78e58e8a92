"""A ModelHandle as ComfyUI knows models: a real `ModelPatcher` that moves our weights instead of patching them.

Invariants, checked by tests/host: `0 <= loaded_size() <= model_size()`; `partially_unload` frees at least what was
asked or says so; `detach(False)` never moves; unloading never raises; `partially_load` takes negative budgets, 0.1 and
1e32, and when it fails nothing stays on the device.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, NoReturn
from weakref import ref

import torch
from comfy.model_patcher import ModelPatcher

from ...mizuoto_runtime.journal import nothing
from ...mizuoto_runtime.memory.handle import ALL, ModelHandle

log = logging.getLogger("mizuoto.memory")


class HandleView:
    """What ComfyUI takes for the model. Weak, so that the handle's owner alone decides how long weights live."""

    def __init__(self, handle: ModelHandle) -> None:
        self.handle = ref(handle)


class HandlePatcher(ModelPatcher):
    """Owned by its handle's `attachment`; hashable by identity, refuses everything that would patch weights.

    Args:
        handle: Held weakly.
        on_evicted: Called after ComfyUI took weights off the device.
    """

    def __init__(self, handle: ModelHandle, on_evicted: Callable[[], object] = nothing) -> None:
        self._on_evicted = on_evicted
        # ComfyUI logs the class name of the model it loads: let that be the handle's name.
        view = type(handle.name, (HandleView,), {})(handle)
        super().__init__(view, handle.load_device, handle.offload_device, size=handle.size_bytes)

    @property
    def _handle(self) -> ModelHandle | None:
        # None while either side is being torn down: ModelPatcher.__del__ comes through here.
        model = getattr(self, "model", None)
        return None if model is None else model.handle()

    def is_dynamic(self) -> bool:
        """False: ComfyUI's dynamic loader must leave these weights alone."""
        return False

    def model_size(self) -> int:
        """Bytes when loaded whole."""
        handle = self._handle
        return handle.size_bytes if handle else 0

    def loaded_size(self) -> int:
        """Bytes on the load device now."""
        handle = self._handle
        return handle.loaded_bytes if handle else 0

    def current_loaded_device(self) -> torch.device:
        """The load device as soon as any weight is there."""
        return self.load_device if self.loaded_size() else self.offload_device

    def model_dtype(self) -> torch.dtype | None:
        """None: there is nothing for ComfyUI to cast patches to."""
        return None

    def model_patches_to(self, device: Any) -> None:
        """There are no patches."""

    def model_patches_models(self) -> list[ModelPatcher]:
        """No further models."""
        return []

    def lowvram_patch_counter(self) -> int:
        """0: no patches."""
        return 0

    def model_mmap_residency(self, free: bool = False) -> tuple[int, int]:
        """(0, 0): no weight is backed by a mapped file."""
        return 0, 0

    def pinned_memory_size(self) -> int:
        """Bytes of its host copies that are pinned: ComfyUI takes them off what it would pin for it."""
        handle = self._handle
        return handle.pinned_bytes if handle else 0

    def partially_load(
        self, device_to: torch.device, extra_memory: float = 0, force_patch_weights: bool = False
    ) -> int:
        """Bring up to `extra_memory` further bytes; a negative budget gives that many back (0.3.69 on)."""
        handle = self._handle
        if handle is None:
            return 0
        if extra_memory < 0:
            return -self._quietly_release(handle, -extra_memory)
        try:
            return handle.place(extra_memory)
        except BaseException:
            # ComfyUI does not list a model whose load failed, so nobody would ever evict what arrived.
            self.detach()
            raise

    def partially_unload(
        self, device_to: torch.device, memory_to_free: float = 0, force_patch_weights: bool = False
    ) -> int:
        """Free at least `memory_to_free` bytes and say how many."""
        handle = self._handle
        return self._quietly_release(handle, memory_to_free) if handle else 0

    def partially_unload_ram(self, ram_to_unload: int, subsets: Any = None) -> int:
        """0: host memory is the runtime's to manage."""
        return 0

    def detach(self, unpatch_all: bool = True) -> Any:
        """Leave the device; with `unpatch_all=False`, ComfyUI's bookkeeping before every reload, nothing moves."""
        handle = self._handle
        if handle is not None and unpatch_all:
            self._quietly_release(handle, ALL)
        return getattr(self, "model", None)

    def patch_model(self, *args: Any, **kwargs: Any) -> Any:
        """Nothing to patch."""
        return self.model

    def unpatch_model(self, device_to: torch.device | None = None, unpatch_weights: bool = True) -> None:
        """Leave the device."""
        self.detach(unpatch_weights)

    def unpin_all_weights(self) -> None:
        """Nothing is pinned through ComfyUI."""

    def clone(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: one handle has one patcher."""
        raise TypeError(f"{type(self.model).__name__} is a speech model and cannot be cloned or patched")

    add_patches = clone
    load = clone

    def _quietly_release(self, handle: ModelHandle, num_bytes: float) -> int:
        if handle.is_busy:  # a phase inside another one loads models: what the outer one uses must stay
            return 0
        try:
            handle.gave_up_for = "another model of ComfyUI"
            freed = handle.release(num_bytes)
        except Exception:
            log.exception("%s could not leave %s", handle.name, handle.load_device)
            return 0
        if freed:
            self._on_evicted()
        return freed
