"""Working memory of the phases, from the request (S161, S162). Wrong guesses cost a retry, never a result."""

from __future__ import annotations

from ...mizuoto_runtime.memory.estimate import kv_position_bytes, peak_bytes
from .audio_encoder import CONV_CHUNKS, num_positions
from .config import CHUNK_FRAMES, AudioConfig, CheckpointConfig

_LIVE_TENSORS = 4  # of a layer's widest activation at a time
_CONV_TENSORS = 3  # of the first convolution's output: itself, its gelu, and what the kernel needs


def encoder_bytes(config: AudioConfig, num_frames: int, element_bytes: int) -> int:
    """Activations of the audio encoder over one piece."""
    chunks = -(-num_frames // CHUNK_FRAMES)
    first_conv = config.channels * (config.num_mels // 2) * (CHUNK_FRAMES // 2)
    convolved = config.channels * -(-config.num_mels // 8) * num_positions(num_frames)  # of all chunks, and a copy
    layers = _LIVE_TENSORS * num_positions(num_frames) * (config.intermediate_size + config.hidden_size)
    elements = _CONV_TENSORS * min(chunks, CONV_CHUNKS) * first_conv + 2 * convolved
    return max(elements, layers) * element_bytes


def decoder_bytes(config: CheckpointConfig, read: int, written: int, element_bytes: int) -> int:
    """Cache, activations of the prompt and scores of one passage."""
    shape = config.decoder
    position = kv_position_bytes(shape.num_kv_heads, shape.head_dim, element_bytes)
    cache = peak_bytes(position, shape.num_layers, read + written, "dynamic")
    activations = _LIVE_TENSORS * read * (shape.intermediate_size + shape.hidden_size) * element_bytes
    return cache + activations + _LIVE_TENSORS * config.vocab_size * 4
