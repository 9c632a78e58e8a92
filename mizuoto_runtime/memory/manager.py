"""The memory host for use without ComfyUI: command line, tests, workers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any
from weakref import WeakSet

import torch

from ..device import DeviceService
from ..errors import OutOfDeviceMemory
from ..settings import Settings
from .handle import ALL, ModelHandle
from .plan import Share, Tenant, split_budget, yielding_order
from .policy import Machine, VramPolicy, shares_memory

log = logging.getLogger("mizuoto.memory")


class MemoryManager:
    """Hands out device memory among its handles, `load_models_gpu` and `free_memory` in one object (S023).

    Implements `MemoryHost`.
    """

    def __init__(self, devices: DeviceService, settings: Settings) -> None:
        self._devices = devices
        self._settings = settings
        self._handles: WeakSet[ModelHandle] = WeakSet()
        self._warned: WeakSet[ModelHandle] = WeakSet()

    def vram_mode(self) -> str:
        """Always "auto": there is no host whose state could be followed."""
        return "auto"

    def register(self, handle: ModelHandle) -> None:
        """Make a new handle known (weakly)."""
        self._handles.add(handle)

    def place(self, handles: Sequence[ModelHandle], working_bytes: int) -> None:
        """See `MemoryHost.place`."""
        by_device: dict[torch.device, list[ModelHandle]] = {}
        for handle in handles:
            if handle.is_managed:
                by_device.setdefault(handle.load_device, []).append(handle)
        for device, group in by_device.items():
            self._place_on(device, group, working_bytes)

    def make_room(self, device: torch.device, keep: Sequence[ModelHandle]) -> None:
        """See `MemoryHost.make_room`."""
        for handle in self._idle(device, keep):
            handle.release()
        self._devices.empty_cache(device)

    def release(self, handle: ModelHandle) -> int:
        """See `MemoryHost.release`."""
        if handle.is_busy:
            return 0
        freed = handle.release()
        if freed:
            self._devices.empty_cache(handle.load_device)
        return freed

    def out_of_memory(self, message: str, detail: dict[str, Any]) -> OutOfDeviceMemory:
        """The plain error: nobody else acts on it here."""
        return OutOfDeviceMemory(message, detail)

    def _place_on(self, device: torch.device, group: list[ModelHandle], working_bytes: int) -> None:
        # Host memory has no say in placing; asking the system for it would cost more than everything else here.
        machine = Machine(shares_memory(self._devices.compute_device(device)))
        policy = VramPolicy.of(self._settings, self.vram_mode(), machine)
        missing = sum(handle.size_bytes - handle.loaded_bytes for handle in group)
        if not missing and self._free_bytes(device, policy) >= working_bytes + policy.reserve_bytes:
            return
        self._yield_until(device, missing + working_bytes + policy.reserve_bytes, group, policy)
        held = sum(handle.loaded_bytes for handle in group)
        budget = self._free_bytes(device, policy) + held - working_bytes - policy.reserve_bytes
        shares = [Share(handle.size_bytes, handle.minimum_bytes) for handle in group]
        if budget < sum(share.minimum_bytes for share in shares) and not self._warned.issuperset(group):
            self._warned.update(group)  # once: every sentence of a long text comes through here
            log.warning(
                "%s: %.0f MB of weights and %.0f MB of working memory may not fit on %s (%.0f MB free); trying.",
                ", ".join(handle.name for handle in group),
                sum(share.minimum_bytes for share in shares) / 1e6,
                working_bytes / 1e6,
                device,
                self._free_bytes(device, policy) / 1e6,
            )
        for handle, granted in zip(group, split_budget(shares, budget), strict=True):
            if policy.mode != "high" and granted < handle.loaded_bytes:
                handle.release(handle.loaded_bytes - granted)  # shrinks in place, then the rest streams
            handle.place(ALL if policy.mode == "high" else max(0, granted - handle.loaded_bytes))
            handle.explain(self._free_bytes(device, policy), working_bytes, policy.reserve_bytes)

    def _free_bytes(self, device: torch.device, policy: VramPolicy) -> int:
        free, _ = self._devices.memory(device)
        if policy.limit_bytes:
            free = min(free, policy.limit_bytes - self._devices.held_bytes(device))
        return free

    def _yield_until(self, device: torch.device, needed: int, keep: Sequence[ModelHandle], policy: VramPolicy) -> None:
        gave_way = False
        for handle in self._idle(device, keep):
            short = needed - self._free_bytes(device, policy)
            if short <= 0:
                break
            # Modes that never split a model make it leave whole (S150).
            handle.release(ALL if policy.mode in ("high", "shared") else short)
            handle.gave_up_for = ", ".join(other.name for other in keep)
            gave_way = True
        if gave_way:
            self._devices.empty_cache(device)

    def _idle(self, device: torch.device, keep: Sequence[ModelHandle]) -> list[ModelHandle]:
        idle = [
            handle
            for handle in self._handles
            if handle.load_device == device and handle.loaded_bytes and not handle.is_busy and handle not in keep
        ]
        tenants = [Tenant(handle.loaded_bytes, handle.size_bytes, handle.last_used) for handle in idle]
        return [idle[index] for index in yielding_order(tenants)]
