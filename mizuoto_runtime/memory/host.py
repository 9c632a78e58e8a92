"""What the runtime asks of whoever owns the device memory: ComfyUI, or `manager.MemoryManager` without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
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

    def enter(
        self, handles: Sequence[ModelHandle], working_bytes: int, check: Callable[[], None]
    ) -> Callable[[], object]:
        """Place the handles and hold them, so that nobody takes their memory in between; what is returned ends that.

        May wait for the phases of other requests (S112). `check` raises to cancel: while waiting, and before every
        copy as long as the handles are held.
        """
        ...

    def kept_ram_bytes(self, wanted_bytes: int) -> int:
        """How much host memory models should leave free, where the user has no say and `wanted_bytes` is usual."""
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


def hold(handles: Sequence[ModelHandle], check: Callable[[], None]) -> Callable[[], object]:
    """Make all handles busy; what is returned ends that."""
    if len(handles) == 1:  # nearly always, and a stack would cost a tenth of entering a phase
        return handles[0].hold(check)
    with ExitStack() as stack:
        for handle in handles:
            stack.callback(handle.hold(check))
        return stack.pop_all().close
