"""Settings turned into the numbers that one placement works with (S025)."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..settings import Settings

if TYPE_CHECKING:  # the doctor explains policies where there is no torch
    import torch

    from ..device import DeviceService

MB = 1 << 20
GB = 1 << 30
# ComfyUI's own reserve (`EXTRA_RESERVED_VRAM`): shared by every program on the desktop, larger where Windows pages.
DEFAULT_RESERVE_MB = 600 if sys.platform == "win32" else 400
WHOLE_MODES = ("high", "shared")


@dataclass(frozen=True, slots=True)
class Machine:
    """What a policy has to know about the place it is made for.

    Attributes:
        shares_memory: Device memory is host memory: MPS, integrated XPU.
        ram_free_bytes: Host memory that can be had now.
        ram_total_bytes: All of it; 0 means that neither figure is known.
    """

    shares_memory: bool = False
    ram_free_bytes: int = 0
    ram_total_bytes: int = 0


@dataclass(frozen=True, slots=True)
class VramPolicy:
    """How models are placed right now.

    Attributes:
        mode: "auto", "high", "shared", "low" or "none" (SPEC M10).
        reserve_bytes: Left alone on every device.
        limit_bytes: What this process may hold in all; 0 is no limit.
        keeps_host_copies: Whether wholly placed weights keep their CPU tensors; partly placed ones always do (S142).
        ram_reserve_bytes: Host memory left alone; below it host copies go, then idle models (S147).
        max_pinned_bytes: Budget of pinned host memory; 0 pins nothing.
        num_transfers: Copies that may be under way while a unit runs; 0 copies on the spot.
    """

    mode: str
    reserve_bytes: int
    limit_bytes: int
    keeps_host_copies: bool
    ram_reserve_bytes: int = 2 * GB
    max_pinned_bytes: int = 0
    num_transfers: int = 0

    @classmethod
    def of(cls, settings: Settings, host_mode: str = "auto", machine: Machine | None = None) -> VramPolicy:
        """The policy of `settings` on `machine`, where mode "host" means `host_mode`."""
        machine = machine or Machine()
        mode = resolve_mode(settings.vram_mode, host_mode, machine.shares_memory)
        reserve_mb = DEFAULT_RESERVE_MB if settings.vram_reserve_mb < 0 else settings.vram_reserve_mb
        total = machine.ram_total_bytes
        ram_reserve = default_ram_reserve(total) if settings.ram_reserve_mb < 0 else settings.ram_reserve_mb * MB
        max_pinned = default_pinned_bytes(total) if settings.max_pinned_mb < 0 else settings.max_pinned_mb * MB
        return cls(
            mode,
            reserve_mb * MB,
            settings.vram_limit_mb * MB,
            # In "shared" mode device memory is host memory: a second copy would only cost, and pinning gain nothing.
            mode != "shared" and _keeps_host_copies(settings.host_copies, machine, ram_reserve),
            ram_reserve,
            0 if mode == "shared" else max_pinned,
            settings.async_offload,
        )


DEFAULT_POLICY = VramPolicy("auto", 0, 0, keeps_host_copies=True, num_transfers=2)
"""What a handle follows that was made without one: place what fits, keep host copies."""


def resolve_mode(mode: str, host_mode: str, shares_memory: bool) -> str:
    """The mode in force: "host" means `host_mode`, and "auto" means "shared" where memory is shared (M10)."""
    mode = host_mode if mode == "host" else mode
    return "shared" if mode == "auto" and shares_memory else mode


def default_ram_reserve(ram_total_bytes: int) -> int:
    """A tenth of host memory, at least 2 GB (S147)."""
    return max(2 * GB, ram_total_bytes // 10)


def default_pinned_bytes(ram_total_bytes: int, platform: str = sys.platform) -> int:
    """How much host memory may be pinned (S129): what ComfyUI allows itself; 0 where host memory is not known."""
    if platform == "win32":  # which does not pin more than half
        return ram_total_bytes * 2 // 5
    return max(ram_total_bytes * 2 // 5, min(ram_total_bytes * 9 // 10, ram_total_bytes - 4 * GB))


def policy_for(settings: Settings, host_mode: str, devices: DeviceService, device: torch.device) -> VramPolicy:
    """The policy of `settings` for models on `device` of this machine, as it is now."""
    ram_free, ram_total = devices.host_memory()
    return VramPolicy.of(settings, host_mode, Machine(devices.shares_memory(device), ram_free, ram_total))


def unit_budget(policy: VramPolicy, budget: float, fixed_bytes: int, size_bytes: int) -> float:
    """Bytes that a handle's units may take on its device, 0 to `size_bytes - fixed_bytes`; the maximum is "whole".

    Never more in mode "none" than in "low", and never more in "low" than in "auto".

    Args:
        policy: Its mode decides (M10).
        budget: Bytes that the handle may hold there in all, fixed part included; may be negative.
        fixed_bytes: Placed in every mode, whether the budget covers it or not (S111).
        size_bytes: The handle placed whole.
    """
    units_bytes = size_bytes - fixed_bytes
    if policy.mode in WHOLE_MODES:
        return units_bytes
    if policy.mode == "none":
        return 0
    allowed = budget / 2 if policy.mode == "low" else budget
    return max(0, min(allowed - fixed_bytes, units_bytes))


def _keeps_host_copies(setting: str, machine: Machine, ram_reserve_bytes: int) -> bool:
    """S141; "auto" keeps them where free memory is not known."""
    if setting != "auto":
        return setting == "on"
    return not machine.ram_total_bytes or machine.ram_free_bytes > ram_reserve_bytes
