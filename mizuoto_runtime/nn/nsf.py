"""The source of neural source-filter vocoders: sines of a pitch and its overtones, and noise."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .. import ops

NUM_SINES = 9  # the fundamental and eight overtones
_AMPLITUDE = 0.1
_VOICED_NOISE = 0.003
_VOICED_HZ = 10.0


def draw_noise(num_samples: int, generator: torch.Generator) -> torch.Tensor:
    """Standard normal noise for every sample of every sine, [1, num_samples, NUM_SINES], on the generator's device.

    Upstream draws three times: initial phases, this noise, and the noise of a source that nobody hears. The phases get
    lost too, so two draws only take the generator as far as upstream's. The noise lies in memory sine by sine, as the
    strides upstream copies: in the other order, the same seed gives other values.

    Source: SineGen and SourceModuleHnNSF, kokoro 0.9.4.
    """
    device = generator.device
    torch.rand(1, NUM_SINES, generator=generator, device=device)
    noise = torch.empty(1, NUM_SINES, num_samples, device=device).transpose(1, 2).normal_(generator=generator)
    torch.randn(1, num_samples, 1, generator=generator, device=device)
    return noise


class HarmonicSource(nn.Module):
    """Pitch and noise -> excitation; float32, whatever the precision around it.

    Args:
        sample_rate: In Hz.
        hop_length: Samples for each value of the pitch.

    Source: SourceModuleHnNSF, kokoro 0.9.4.
    """

    def __init__(self, sample_rate: int, hop_length: int) -> None:
        super().__init__()
        self.sample_rate = sample_rate
        self.hop_length = hop_length
        self.linear = ops.Linear(NUM_SINES, 1)

    def forward(self, f0: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        """[1, F] Hz, [1, F * hop_length, NUM_SINES] -> [1, F * hop_length]."""
        voiced = (f0 > _VOICED_HZ).to(f0.dtype).repeat_interleave(self.hop_length, dim=1)[..., None]
        level = voiced * _VOICED_NOISE + (1 - voiced) * _AMPLITUDE / 3
        waves = self._sines(f0).transpose(1, 2) * voiced + level * noise
        return torch.tanh(self.linear(waves)).squeeze(-1)

    def _sines(self, f0: torch.Tensor) -> torch.Tensor:
        """[1, NUM_SINES, samples].

        The pitch is constant within a hop, so phases are summed hop by hop: upstream averages its sums over samples to
        the same values.
        """
        overtones = torch.arange(1, NUM_SINES + 1, dtype=f0.dtype, device=f0.device)
        cycles = (f0[..., None] * overtones / self.sample_rate) % 1
        phase = torch.cumsum(cycles, dim=1) * 2 * torch.pi
        phase = phase.transpose(1, 2) * self.hop_length
        phase = F.interpolate(phase, scale_factor=self.hop_length, mode="linear")
        return phase.sin_().mul_(_AMPLITUDE)
