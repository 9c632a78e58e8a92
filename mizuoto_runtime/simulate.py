"""A device of N bytes played by the CPU, so that every placement decision can be tested without a GPU (S174)."""

from __future__ import annotations

import torch


class SimulatedOutOfMemory(RuntimeError):  # noqa: N818 - named like the real one without its suffix
    """An allocation on a simulated device went over its size; `errors.is_oom` recognises it."""


class SimulatedDevice:
    """Counts bytes against a capacity that is really enforced.

    Tensors "on" the device are ordinary CPU tensors; what makes them device tensors is that they were cloned by
    `copy_in` and are given back by `free`.

    Args:
        total_bytes: Capacity.
        strict: A weight that is not on the device is a meta tensor, so that using it fails (S175).
    """

    def __init__(self, total_bytes: int, strict: bool = True) -> None:
        self.total_bytes = total_bytes
        self.strict = strict
        self.used_bytes = 0
        self.peak_bytes = 0

    @property
    def free_bytes(self) -> int:
        """Bytes that can still be allocated."""
        return self.total_bytes - self.used_bytes

    def allocate(self, num_bytes: int) -> None:
        """Count `num_bytes` as used.

        Raises:
            SimulatedOutOfMemory: They do not fit; nothing is counted then.
        """
        if num_bytes > self.free_bytes:
            raise SimulatedOutOfMemory(
                f"simulated device out of memory: {num_bytes} bytes wanted, "
                f"{self.free_bytes} of {self.total_bytes} free"
            )
        self.used_bytes += num_bytes
        self.peak_bytes = max(self.peak_bytes, self.used_bytes)

    def free(self, num_bytes: int) -> None:
        """Give back what `allocate` counted."""
        self.used_bytes -= num_bytes

    def copy_in(self, tensor: torch.Tensor) -> torch.Tensor:
        """A clone of `tensor`, counted against the capacity; raises like `allocate`."""
        self.allocate(tensor.nbytes)
        return tensor.detach().clone()
