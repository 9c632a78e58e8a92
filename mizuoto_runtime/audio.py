"""Sound in memory, the same everywhere inside the pack."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class Audio:
    """One recording.

    Attributes:
        waveform: [C, T] float32 on the CPU, -1..1.
        sample_rate: Hz.
    """

    waveform: torch.Tensor
    sample_rate: int

    @property
    def seconds(self) -> float:
        """Duration."""
        return self.waveform.shape[-1] / self.sample_rate
