"""The numbers of the built-in voice. They are facts of the checkpoint, not options."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextEncoderConfig:
    """A text encoder: two convolution blocks, then one transformer layer applied `num_passes` times."""

    hidden_size: int
    num_passes: int
    vocab_size: int = 178
    num_conv_blocks: int = 2
    kernel_size: int = 5
    num_heads: int = 2

    @property
    def intermediate_size(self) -> int:
        """Width of every feed-forward part."""
        return 2 * self.hidden_size


@dataclass(frozen=True, slots=True)
class TalkerConfig:
    """Phonemes -> durations, pitch and energy."""

    text: TextEncoderConfig = TextEncoderConfig(hidden_size=192, num_passes=6)
    kernel_size: int = 7
    dilations: tuple[int, ...] = (1, 2, 4, 8, 1, 2)
    duration_kernel_size: int = 3
    f0_scale_hz: float = 100.0
    energy_scale: float = 5.0


@dataclass(frozen=True, slots=True)
class CodecConfig:
    """Phonemes, durations, pitch and energy -> spectra -> waveform."""

    text: TextEncoderConfig = TextEncoderConfig(hidden_size=128, num_passes=4)
    hidden_size: int = 256
    intermediate_size: int = 768
    num_blocks: int = 8
    kernel_size: int = 7
    feature_scale: float = 5.0
    sample_rate: int = 24000
    n_fft: int = 1200
    hop_length: int = 300
    min_f0_hz: float = 40.0  # at or below: unvoiced
    max_harmonic_hz: float = 11000.0
    max_log_magnitude: float = 7.0

    @property
    def num_bins(self) -> int:
        """Frequency bins of a frame."""
        return self.n_fft // 2 + 1


NORM_EPS = 1e-5
PAD_ID = 0
FRAME_RATE_HZ = 40  # durations count these frames
PROSODY_FRAMES = 2  # pitch and energy values, and spectrum frames, in one duration frame
MIN_SPEED = 0.5
MAX_SPEED = 2.0
