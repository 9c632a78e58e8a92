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


def mono(audio: Audio) -> Audio:
    """The mean of all channels; a recording with one channel as it is."""
    if audio.waveform.shape[0] == 1:
        return audio
    return Audio(audio.waveform.mean(0, keepdim=True), audio.sample_rate)
