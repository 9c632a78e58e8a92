"""Loudness as people hear it, by ITU-R BS.1770-4, and the gain that gives a recording another one."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .audio import Audio

_HOP_S, _HOPS_A_BLOCK = 0.1, 4  # blocks of 400 ms that overlap by three quarters
_ABSOLUTE_GATE, _RELATIVE_GATE = -70.0, -10.0  # LUFS, LU
_OFFSET = -0.691  # what the weighting gains at 1 kHz
_SURROUND = 1.41
# Weights by number of channels; those of 5.1 are left, right, centre, low frequencies, two surrounds.
_CHANNELS = {
    4: (1.0, 1.0, _SURROUND, _SURROUND),
    5: (1.0, 1.0, 1.0, _SURROUND, _SURROUND),
    6: (1.0, 1.0, 1.0, 0.0, _SURROUND, _SURROUND),
}
_MEMORY_S = 0.5  # after which the weighting filter has forgotten a sample: -160 dB
_PIECE_HOPS = 256  # filtered at a time, so that long recordings need little memory

Biquad = tuple[tuple[float, float, float], tuple[float, float, float]]


def integrated_loudness(audio: Audio) -> float:
    """Gated loudness in LUFS; -inf where all of it is below -70 LUFS.

    A recording shorter than a block of 400 ms counts as one block.

    Source: ITU-R BS.1770-4, annex 1.
    """
    powers = _hop_powers(audio)
    blocks = powers.unfold(0, min(_HOPS_A_BLOCK, len(powers)), 1).mean(1)
    blocks = blocks[_lufs(blocks) > _ABSOLUTE_GATE]
    if not len(blocks):
        return -math.inf
    blocks = blocks[_lufs(blocks) > float(_lufs(blocks.mean())) + _RELATIVE_GATE]
    return float(_lufs(blocks.mean()))


def gain_for(audio: Audio, target_lufs: float, ceiling_dbfs: float) -> float:
    """The factor that brings a recording to `target_lufs`, or as close as its peak may come: 0 dBFS is 1.0.

    However quiet the recording is: it is measured at full scale, where the gate of -70 LUFS takes away no speech. A
    second use changes nothing. 1.0 for silence.
    """
    peak = float(audio.waveform.abs().max()) if audio.waveform.numel() else 0.0
    if not peak:
        return 1.0
    loudness = integrated_loudness(Audio(audio.waveform / peak, audio.sample_rate))
    highest = decibels_as_factor(ceiling_dbfs)
    # Less than -70 LUFS at full scale is a lone click.
    wanted = decibels_as_factor(target_lufs - loudness) if math.isfinite(loudness) else highest
    return min(wanted, highest) / peak


def decibels_as_factor(decibels: float) -> float:
    """Of amplitude: 20 dB is 10."""
    return float(10 ** (decibels / 20))


def weighting(sample_rate: int) -> tuple[Biquad, Biquad]:
    """The K-weighting as two filters (numerator, denominator): the shelf of a head, and a high pass.

    Source: tables 1 and 2 of BS.1770-4 at 48 kHz, and the analogue filters behind them at any other rate.
    """
    return _shelf(sample_rate), _high_pass(sample_rate)


def _shelf(sample_rate: int) -> Biquad:
    frequency, quality, gain = 1681.974450955533, 0.7071752369554196, decibels_as_factor(3.999843853973347)
    tangent = math.tan(math.pi * frequency / sample_rate)
    middle = gain**0.4996667741545416 * tangent / quality
    norm = 1 + tangent / quality + tangent**2
    numerator = (gain + middle + tangent**2, 2 * (tangent**2 - gain), gain - middle + tangent**2)
    denominator = (norm, 2 * (tangent**2 - 1), 1 - tangent / quality + tangent**2)
    return _divided(numerator, norm), _divided(denominator, norm)


def _high_pass(sample_rate: int) -> Biquad:
    frequency, quality = 38.13547087602444, 0.5003270373238773
    tangent = math.tan(math.pi * frequency / sample_rate)
    norm = 1 + tangent / quality + tangent**2
    denominator = (norm, 2 * (tangent**2 - 1), 1 - tangent / quality + tangent**2)
    return (1.0, -2.0, 1.0), _divided(denominator, norm)


def _divided(values: tuple[float, float, float], by: float) -> tuple[float, float, float]:
    return values[0] / by, values[1] / by, values[2] / by


def _hop_powers(audio: Audio) -> Tensor:
    """Weighted power of every whole hop of 100 ms, all channels together; of everything if shorter than a block."""
    num_channels, length = audio.waveform.shape
    hop = audio.sample_rate * _HOP_S
    num_hops = int(length / hop + 1e-6)
    edges = [round(index * hop) for index in range(num_hops + 1)] if num_hops >= _HOPS_A_BLOCK else [0, length]
    weights = torch.tensor(_CHANNELS.get(num_channels, (1.0,) * num_channels), dtype=torch.float64)
    memory = round(_MEMORY_S * audio.sample_rate)
    found = []
    for first in range(0, len(edges) - 1, _PIECE_HOPS):
        here = edges[first : first + _PIECE_HOPS + 1]
        begin = max(0, here[0] - memory)
        piece = _weighted(audio.waveform[:, begin : here[-1]].double(), audio.sample_rate)
        energy = torch.nn.functional.pad((weights[:, None] * piece.square()).sum(0).cumsum(0), (1, 0))
        at = torch.tensor(here) - begin
        found.append(energy[at].diff() / at.diff().clamp(min=1))
    return torch.cat(found)


def _weighted(waveform: Tensor, sample_rate: int) -> Tensor:
    """`waveform` [C, T] through the K-weighting, by its frequency response: a recursion would run sample by sample."""
    length = waveform.shape[-1]
    size = length + round(_MEMORY_S * sample_rate)
    size += size % 2
    # e^-jw of every bin
    delay = torch.polar(
        torch.ones(size // 2 + 1, dtype=torch.float64),
        -torch.pi * torch.linspace(0, 1, size // 2 + 1, dtype=torch.float64),
    )
    response = torch.ones_like(delay)
    for numerator, denominator in weighting(sample_rate):
        response = response * _polynomial(numerator, delay) / _polynomial(denominator, delay)
    return torch.fft.irfft(torch.fft.rfft(waveform, size) * response, size)[:, :length]


def _polynomial(coefficients: tuple[float, float, float], delay: Tensor) -> Tensor:
    return coefficients[0] + (coefficients[1] + coefficients[2] * delay) * delay


def _lufs(power: Tensor) -> Tensor:
    return _OFFSET + 10 * power.log10()
