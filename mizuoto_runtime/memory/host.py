"""What the runtime asks of whoever owns the device memory: ComfyUI, or `manager.MemoryManager` without it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch

from ..errors import OutOfDeviceMemory
from .handle import ModelHandle


class MemoryHost(Protocol):
    """Decides who is on a device; the same contract tests run on every implementation."""

    def vram_mode(self) -> str:
        """What the setting vram_mode "host" means here: "auto", "high", "shared", "low" or "none"."""
        ...

    def register(self, handle: ModelHandle) -> None:
        """Make a new handle known; the host keeps no strong reference to it."""
        ...

    def place(self, handles: Sequence[ModelHandle], working_bytes: int) -> None:
        """Make every handle ready on its device and leave `working_bytes` free there, evicting idle ones as needed.

        Estimates never refuse: what does not seem to fit is tried, and only an allocation that fails raises.
        Busy handles stay where they are.
        """
        ...

    def make_room(self, device: torch.device, keep: Sequence[ModelHandle]) -> None:
        """After a failed allocation: everything idle except `keep` leaves `device`, and torch's cache is emptied."""
        ...

    def release(self, handle: ModelHandle) -> int:
        """Take an idle handle off its device; returns the bytes freed. Busy handles stay (0)."""
        ...

    def out_of_memory(self, message: str, detail: dict[str, Any]) -> OutOfDeviceMemory:
        """The error that ends a request whose retries did not help, in a form that the host acts on."""
        ...
