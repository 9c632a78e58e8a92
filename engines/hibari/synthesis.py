"""Spectrum parameters to waveform: filtered pulses, shaped noise, a free part, and one inverse STFT.

    S = exp(harmonic_log) e^(i pi tanh(harmonic_phase)) STFT(pulses(f0))
      + exp(noise_log) Z + exp(free_log) e^(i free_phase)

No weights here. Source: hibari-tts 0.2.1, hibari/dsp.py.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

from ...mizuoto_runtime.nn.stft import centred_frames, overlap_add
from .config import CodecConfig

BLOCK_FRAMES = 64  # the temporaries of so many frames stay in a core's cache, and long utterances need no more memory
NEAR_PULSE = 2e-3  # below this, sin(H t) / sin(t / 2) is replaced by its limit


class Spectra(NamedTuple):
    """What the network says of every frame, [F, bins] each."""

    harmonic_log: torch.Tensor
    harmonic_phase: torch.Tensor
    noise_log: torch.Tensor
    free_log: torch.Tensor
    free_phase: torch.Tensor


def draw_noise(shape: torch.Size, generator: torch.Generator) -> torch.Tensor:
    """Real and imaginary parts of standard normal noise, [2, *shape], on the generator's device."""
    return torch.randn((2, *shape), generator=generator, device=generator.device)


def interpolate(f0: torch.Tensor, hop_length: int) -> torch.Tensor:
    """Frame values [F] -> sample values [F * hop_length], linear between frame centres, constant at the ends."""
    ends = torch.cat((f0[:1], f0, f0[-1:]))
    weight = (torch.arange(hop_length, device=f0.device) + 0.5) / hop_length
    between = torch.lerp(ends[:-1, None], ends[1:, None], weight).flatten()
    return between[hop_length // 2 : -(hop_length // 2)]


def phase_of(frequency_hz: torch.Tensor, sample_rate: int) -> torch.Tensor:
    """Running phase in [0, 2 pi) of a frequency curve [N], float32 on the curve's device."""
    # float64 on the CPU: minutes of speech lose no precision, and MPS has no float64.
    cycles = torch.cumsum(frequency_hz.cpu(), 0, dtype=torch.float64).div_(sample_rate).frac_()
    return cycles.mul_(2.0 * math.pi).float().to(frequency_hz.device)


def pulses(f0: torch.Tensor, config: CodecConfig) -> torch.Tensor:
    """Band-limited pulse train of a pitch curve, [F] Hz -> [F * hop_length]; zero where unvoiced.

    Every harmonic below `max_harmonic_hz` has amplitude one:
    sum over h <= H of cos(h t) = sin((H + 1/2) t) / (2 sin(t / 2)) - 1/2.
    """
    frequency = interpolate(f0, config.hop_length)
    is_voiced = frequency > config.min_f0_hz
    frequency = frequency.clamp(min=config.min_f0_hz)
    phase = phase_of(frequency, config.sample_rate)
    harmonics = torch.floor(config.max_harmonic_hz / frequency) + 0.5
    divisor = torch.sin(phase * 0.5) * 2.0
    ratio = torch.where(divisor.abs() > NEAR_PULSE, torch.sin(harmonics * phase) / divisor, harmonics)
    return torch.where(is_voiced, ratio - 0.5, 0.0)


def combine(spectra: Spectra, excitation: torch.Tensor, noise: torch.Tensor, max_log_magnitude: float) -> torch.Tensor:
    """The complex spectrum of some frames, [F, bins].

    Args:
        spectra: Network output for these frames.
        excitation: STFT of the pulses, complex [F, bins].
        noise: [2, F, bins].
        max_log_magnitude: Larger logarithms are cut.
    """

    def magnitude(logarithm: torch.Tensor) -> torch.Tensor:
        return logarithm.clamp(max=max_log_magnitude).exp_()

    angle = torch.tanh(spectra.harmonic_phase).mul_(math.pi)
    harmonic = magnitude(spectra.harmonic_log)
    filter_response = torch.complex(harmonic * torch.cos(angle), harmonic * torch.sin(angle))
    rest = magnitude(spectra.noise_log) * noise
    free = magnitude(spectra.free_log)
    rest[0].addcmul_(free, torch.cos(spectra.free_phase))
    rest[1].addcmul_(free, torch.sin(spectra.free_phase))
    return torch.complex(rest[0], rest[1]).addcmul_(filter_response, excitation)


def synthesise(spectra: Spectra, f0: torch.Tensor, noise: torch.Tensor, config: CodecConfig) -> torch.Tensor:
    """Waveform of one utterance, [F * hop_length].

    Args:
        spectra: Network output, [F, bins] each.
        f0: [F] Hz, F >= 2.
        noise: [2, F, bins], from `draw_noise`.
        config: Rates and limits.
    """
    n_fft, hop = config.n_fft, config.hop_length
    window = torch.hann_window(n_fft, device=f0.device)
    # A cosine of amplitude one has a peak of n_fft / 4 under this window.
    source_window = window / (n_fft / 4)
    sources = centred_frames(pulses(f0, config), n_fft, hop)
    num_frames = f0.shape[0]
    signal = f0.new_zeros((num_frames - 1) * hop + n_fft)
    for start in range(0, num_frames, BLOCK_FRAMES):
        rows = slice(start, start + BLOCK_FRAMES)
        excitation = torch.fft.rfft(sources[rows] * source_window)
        block = Spectra(*(part[rows] for part in spectra))
        spectrum = combine(block, excitation, noise[:, rows], config.max_log_magnitude)
        piece = overlap_add(torch.fft.irfft(spectrum, n=n_fft).mul_(window), hop)
        signal[start * hop : start * hop + piece.shape[0]] += piece
    weight = overlap_add(window.square().expand(num_frames, -1), hop)
    centre = slice(n_fft // 2, n_fft // 2 + num_frames * hop)
    return signal[centre] / weight[centre]
