"""Working memory of the phases, from the request (S161, S162). Wrong guesses cost a retry, never a result."""

from __future__ import annotations

from .config import CheckpointConfig

# Live bytes at the official sizes, traced on the CPU, and a tenth more for the kernels.
TALKER_BYTES_PER_PHONEME = 64 << 10
DECODER_BYTES_PER_VALUE = 270 << 10  # of the pitch, which has 80 a second
# What they are proportional to.
OFFICIAL_HIDDEN_SIZE, OFFICIAL_CHANNELS = 768, 512


def talker_bytes(config: CheckpointConfig, num_phonemes: int) -> int:
    """Activations of one utterance."""
    return num_phonemes * TALKER_BYTES_PER_PHONEME * config.albert.hidden_size // OFFICIAL_HIDDEN_SIZE


def decoder_bytes(config: CheckpointConfig, num_values: int) -> int:
    """Activations of one utterance."""
    return num_values * DECODER_BYTES_PER_VALUE * config.vocoder.channels // OFFICIAL_CHANNELS
