"""Changing the sample rate of a recording.

With the package `soxr` the result is that of `librosa.resample`, which the reference implementations of several engines
use. Without it, a windowed-sinc filter of the same pass band takes its place: as good to the ear, other bits.
"""

from __future__ import annotations

import math
from functools import lru_cache
from importlib.util import find_spec

import torch

_PASS_BAND = 0.913  # of the lower Nyquist frequency; soxr's HQ recipe
_ATTENUATION_DB = 120.0


def has_soxr() -> bool:
    """Whether `resample` gives the bits of `librosa.resample`."""
    return find_spec("soxr") is not None


def resample(waveform: torch.Tensor, source_hz: int, target_hz: int) -> torch.Tensor:
    """`waveform` at another rate, [..., T] -> [..., ceil(T * target_hz / source_hz)] float32 on the CPU.

    Args:
        waveform: float32 on the CPU; returned as it is where the rates are equal.
        source_hz: Its rate.
        target_hz: The rate wanted.

    Source: librosa.resample, librosa 0.11.0, with "soxr_hq": the length is rounded up in floating point.

    Raises:
        ValueError: A rate is not positive.
    """
    if source_hz <= 0 or target_hz <= 0:
        raise ValueError(f"sample rates must be positive, got {source_hz} and {target_hz}")
    if source_hz == target_hz:
        return waveform
    length = math.ceil(waveform.shape[-1] * (float(target_hz) / source_hz))
    rows = waveform.reshape(-1, waveform.shape[-1])
    function = _by_soxr if has_soxr() else by_sinc
    found = torch.stack([_fitted(function(row, source_hz, target_hz), length) for row in rows])
    return found.reshape(*waveform.shape[:-1], length)


def by_sinc(row: torch.Tensor, source_hz: int, target_hz: int) -> torch.Tensor:
    """[T] at another rate, through a Kaiser-windowed sinc that is evaluated once for every phase of the output.

    Flat to 0.91 of the lower Nyquist frequency; what would fold back is 120 dB down. There is no delay.
    """
    divisor = math.gcd(source_hz, target_hz)
    step, num_phases = source_hz // divisor, target_hz // divisor
    kernel = _kernel(step, num_phases)  # [phases, taps]
    taps = kernel.shape[1]
    half = taps // 2
    length = -(-row.shape[0] * num_phases // step)
    rounds = -(-length // num_phases)
    # The last round may begin up to `step` samples beyond the end.
    padded = torch.nn.functional.pad(row, (half, half + (rounds + 1) * step - row.shape[0]))
    found = row.new_empty(rounds, num_phases)
    for phase in range(num_phases):
        first = phase * step // num_phases
        windows = padded[first:].unfold(0, taps, step)[:rounds]
        found[:, phase] = windows @ kernel[phase]
    return found.flatten()[:length]


def _by_soxr(row: torch.Tensor, source_hz: int, target_hz: int) -> torch.Tensor:
    import soxr  # type: ignore[import-untyped]

    return torch.from_numpy(soxr.resample(row.numpy(), source_hz, target_hz, quality="soxr_hq"))


def _fitted(row: torch.Tensor, length: int) -> torch.Tensor:
    return torch.nn.functional.pad(row[:length], (0, max(0, length - row.shape[0])))


@lru_cache(maxsize=4)
def _kernel(step: int, num_phases: int) -> torch.Tensor:
    """Filters for outputs between input samples, [num_phases, taps] float32; each row sums to one."""
    nyquist = min(1.0, num_phases / step)  # of the lower rate, in units of the input's
    cutoff = nyquist * (1 + _PASS_BAND) / 2
    # Kaiser's design formulas.
    width = math.pi * nyquist * (1 - _PASS_BAND)
    half = math.ceil((_ATTENUATION_DB - 7.95) / (2.285 * width) / 2)
    beta = 0.1102 * (_ATTENUATION_DB - 8.7)
    offsets = (torch.arange(num_phases, dtype=torch.float64) * step % num_phases) / num_phases
    distance = torch.arange(-half, half + 1, dtype=torch.float64) - offsets[:, None]
    inside = (1 - (distance / (half + 1)).square()).clamp(min=0).sqrt()
    kernel = torch.sinc(cutoff * distance) * torch.special.i0(beta * inside)
    return (kernel / kernel.sum(dim=1, keepdim=True)).float()
