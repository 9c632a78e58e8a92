"""Working memory of the two phases, from the sizes of the model; wrong guesses cost a retry, never a result."""

from __future__ import annotations

from ...mizuoto_runtime.memory.estimate import kv_position_bytes, peak_bytes
from .config import NUM_FEATURES, NUM_FRAMES, WhisperConfig

_LIVE_TENSORS = 4  # of a layer's widest activation at a time
_FLOAT_BYTES = 4


def encoder_bytes(config: WhisperConfig, element_bytes: int) -> int:
    """Activations of one window in the audio encoder: the first convolution and its GELU, or a layer."""
    convolved = 2 * NUM_FRAMES * config.hidden_size
    layer = _LIVE_TENSORS * NUM_FEATURES * max(config.encoder_size, 3 * config.hidden_size)
    return max(convolved, layer) * element_bytes


def decoder_bytes(config: WhisperConfig, rows: int, element_bytes: int) -> int:
    """Caches, activations and logits of one window, `rows` texts at once."""
    position = kv_position_bytes(config.decoder_heads, config.hidden_size // config.decoder_heads, element_bytes)
    past = peak_bytes(position, config.decoder_layers, config.max_positions, "dynamic", rows)
    window = peak_bytes(position, config.decoder_layers, NUM_FEATURES, "dynamic")
    layer = _LIVE_TENSORS * rows * config.max_positions * config.decoder_size * element_bytes
    # Of all that is read at first: twice in float32, before and after the rules.
    logits = 2 * rows * (config.max_positions // 2) * config.vocab_size * _FLOAT_BYTES
    return past + window + layer + logits
