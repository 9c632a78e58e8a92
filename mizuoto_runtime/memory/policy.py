"""Settings turned into the numbers that one placement works with (S025)."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from ..settings import Settings

MB = 1 << 20
# ComfyUI's own reserve (`EXTRA_RESERVED_VRAM`): shared by every program on the desktop, larger where Windows pages.
DEFAULT_RESERVE_MB = 600 if sys.platform == "win32" else 400


@dataclass(frozen=True, slots=True)
class VramPolicy:
    """How models are placed right now.

    Attributes:
        mode: "auto", "high", "shared", "low" or "none" (SPEC M10).
        reserve_bytes: Left alone on every device.
        limit_bytes: What this process may hold in all; 0 is no limit.
        keeps_host_copies: Whether placed weights keep their CPU tensors.
    """

    mode: str
    reserve_bytes: int
    limit_bytes: int
    keeps_host_copies: bool

    @classmethod
    def of(cls, settings: Settings, host_mode: str = "auto") -> VramPolicy:
        """The policy of `settings`, where mode "host" means `host_mode`."""
        mode = host_mode if settings.vram_mode == "host" else settings.vram_mode
        reserve_mb = DEFAULT_RESERVE_MB if settings.vram_reserve_mb < 0 else settings.vram_reserve_mb
        # In "shared" mode device memory is host memory: a second copy would only cost.
        return cls(mode, reserve_mb * MB, settings.vram_limit_mb * MB, keeps_host_copies=mode != "shared")
