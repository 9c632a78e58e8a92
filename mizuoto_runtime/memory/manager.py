"""The memory host for use without ComfyUI: command line, tests, workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakSet

import torch

from ..device import DeviceService
from ..errors import OutOfDeviceMemory
from ..settings import Settings
from .handle import ALL, ModelHandle
from .host import hold
from .plan import Share, Tenant, split_budget, yielding_order
from .policy import Machine, VramPolicy
from .shortage import Shortages
from .waiting import Turns


class MemoryManager:
    """Hands out device memory among its handles, `load_models_gpu` and `free_memory` in one object (S023).

    Implements `MemoryHost`; may be used by several threads.

    Args:
        devices: Whose memory.
        settings: How it is used.
        turns: How requests of several threads wait for each other.
    """

    def __init__(self, devices: DeviceService, settings: Settings, turns: Turns | None = None) -> None:
        self._devices = devices
        self._settings = settings
        self._turns = turns or Turns()
        self._handles: WeakSet[ModelHandle] = WeakSet()
        self._shortages = Shortages()
        self._policies: dict[torch.device, VramPolicy] = {}

    def vram_mode(self) -> str:
        """Always "auto": there is no host whose state could be followed."""
        return "auto"

    def kept_ram_bytes(self, wanted_bytes: int) -> int:
        """All of them: nobody else frees host memory here."""
        return wanted_bytes

    def register(self, handle: ModelHandle) -> None:
        """Make a new handle known (weakly)."""
        with self._turns.lock:
            self._handles.add(handle)

    def place(self, handles: Sequence[ModelHandle], working_bytes: int) -> None:
        """See `MemoryHost.place`."""
        with self._turns.lock:
            for device, group in _by_device(handles).items():
                self._place_on(device, group, working_bytes)

    def enter(
        self, handles: Sequence[ModelHandle], working_bytes: int, check: Callable[[], None]
    ) -> Callable[[], object]:
        """See `MemoryHost.enter`."""

        def begin() -> Callable[[], object]:
            self.place(handles, working_bytes)
            return hold(handles, check)

        let_go, left = self._turns.enter(lambda: self._is_blocked(handles, working_bytes), check, begin)

        def leave() -> None:
            try:
                let_go()
            finally:
                left()

        return leave

    def make_room(self, device: torch.device, keep: Sequence[ModelHandle]) -> None:
        """See `MemoryHost.make_room`."""
        with self._turns.lock:
            for handle in self._idle(device, keep):
                handle.release()
            self._devices.empty_cache(device)
        self._turns.freed()

    def release(self, handle: ModelHandle) -> int:
        """See `MemoryHost.release`."""
        with self._turns.lock:
            if handle.is_busy:
                return 0
            freed = handle.release()
            if freed:
                self._devices.empty_cache(handle.load_device)
        self._turns.freed()
        return freed

    def out_of_memory(self, message: str, detail: dict[str, Any]) -> OutOfDeviceMemory:
        """The plain error: nobody else acts on it here."""
        return OutOfDeviceMemory(message, detail)

    def _is_blocked(self, handles: Sequence[ModelHandle], working_bytes: int) -> bool:
        """Whether, on some device, the least that runs does not fit beside what busy handles hold there."""
        for device, group in _by_device(handles).items():
            others = [each for each in self._handles if each.load_device == device and each not in group]
            if not any(each.is_busy and each.loaded_bytes for each in others):
                continue
            policy = self._policy(device)
            least = sum(handle.minimum_bytes for handle in group) + working_bytes + policy.reserve_bytes
            can_leave = sum(each.loaded_bytes for each in (*others, *group) if not each.is_busy)
            if least > self._free_bytes(device, policy) + can_leave:
                return True
        return False

    def _policy(self, device: torch.device) -> VramPolicy:
        policy = self._policies.get(device)
        if policy is None:
            # Host memory has no say in placing; asking the system for it would cost more than everything else here.
            machine = Machine(self._devices.shares_memory(device))
            policy = self._policies[device] = VramPolicy.of(self._settings, self.vram_mode(), machine)
        return policy

    def _place_on(self, device: torch.device, group: list[ModelHandle], working_bytes: int) -> None:
        policy = self._policy(device)
        missing = sum(handle.size_bytes - handle.loaded_bytes for handle in group)
        if not missing and self._free_bytes(device, policy) >= working_bytes + policy.reserve_bytes:
            return
        self._yield_until(device, missing + working_bytes + policy.reserve_bytes, group, policy)
        held = sum(handle.loaded_bytes for handle in group)
        free_bytes = self._free_bytes(device, policy)
        self._shortages.note(group, working_bytes, free_bytes, policy.reserve_bytes)
        budget = free_bytes + held - working_bytes - policy.reserve_bytes
        shares = [Share(handle.size_bytes, handle.minimum_bytes) for handle in group]
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
        tenants = [Tenant(handle.loaded_bytes, handle.size_bytes, handle.last_used, handle.is_kept) for handle in idle]
        return [idle[index] for index in yielding_order(tenants)]


def _by_device(handles: Sequence[ModelHandle]) -> dict[torch.device, list[ModelHandle]]:
    groups: dict[torch.device, list[ModelHandle]] = {}
    for handle in handles:
        if handle.is_managed:
            groups.setdefault(handle.load_device, []).append(handle)
    return groups
