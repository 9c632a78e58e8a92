"""Pins that ComfyUI sees: `PinBackend` over `comfy.model_management`, whose budget all packs share.

Functions are called through the module at run time, never bound early: other packs replace them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import comfy.model_management as mm
import torch
from torch import nn

from ...mizuoto_runtime.memory.pinning import PinBackend, can_pin_in_place, discard_pending_error, pinned_memory


class ComfyPins:
    """Registers through ComfyUI, so that its total counts ours and it can make room for us. Implements `PinBackend`."""

    def room_bytes(self) -> float:
        """What ComfyUI's own budget has left."""
        return float(mm.MAX_PINNED_MEMORY - mm.TOTAL_PINNED_MEMORY)

    def register(self, tensor: torch.Tensor, device: torch.device) -> bool:
        """See `PinBackend.register`."""
        # 0.3.75 takes parameters only.
        done = bool(mm.pin_memory(nn.Parameter(tensor, requires_grad=False)))
        if not done:
            discard_pending_error(device)  # 0.3.75 leaves it to the next kernel
        return done

    def unregister(self, pointer: int, num_bytes: int, device: torch.device) -> bool:
        """See `PinBackend.unregister`."""
        # ComfyUI wants a tensor to ask for address and size, at a time when the real ones are gone already.
        memory = (ctypes.c_uint8 * num_bytes).from_address(pointer)
        return bool(mm.unpin_memory(torch.frombuffer(memory, dtype=torch.uint8)))

    def synchronize(self, device: torch.device) -> None:
        """See `PinBackend.synchronize`."""
        torch.cuda.synchronize(device)


def pins() -> PinBackend | None:
    """How memory is pinned under this ComfyUI, or None where it is not: no NVIDIA, or --disable-pinned-memory."""
    return ComfyPins() if _is_on() and can_pin_in_place() else None


def pinned_copies() -> Callable[[int], torch.Tensor] | None:
    """What allocates pinned memory for copies under this ComfyUI, or None as for `pins`; ROCm has it too."""
    return pinned_memory if _is_on() and torch.cuda.is_available() else None


def _is_on() -> bool:
    return hasattr(mm, "pin_memory") and getattr(mm, "MAX_PINNED_MEMORY", -1) > 0
