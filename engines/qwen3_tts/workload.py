"""Working memory of the phases, from the request (S161, S162). Wrong guesses cost a retry, never a result."""

from __future__ import annotations

from collections.abc import Sequence

from ...mizuoto_runtime.lm.qwen import QwenConfig
from ...mizuoto_runtime.memory.estimate import generated_positions, kv_position_bytes, peak_bytes
from ...mizuoto_runtime.nn.mimi import MimiConfig
from .codec import CodecConfig
from .config import TalkerConfig
from .ending import FRAMES_PER_TOKEN
from .prompt import Prompt

# Live elements of one forward pass at the official sizes, traced, and a tenth more for the kernels.
CODEC_ELEMENTS_PER_FRAME = 950_000
VOICE_ELEMENTS_PER_SECOND = 6_000_000
# What they are proportional to: the widest stages work on the most samples.
OFFICIAL_DECODER_DIM, OFFICIAL_FILTERS = 1536, 64

_LIVE_TENSORS = 4  # of a layer's widest activation at a time


def talker_bytes(config: TalkerConfig, prompts: Sequence[Prompt], budgets: Sequence[int], element_bytes: int) -> int:
    """Caches and activations of one batch."""
    read = max(prompt.num_positions for prompt in prompts)
    made = max(
        generated_positions(prompt.text.shape[1], FRAMES_PER_TOKEN, budget, min_positions=min(budget, 64))
        for prompt, budget in zip(prompts, budgets, strict=True)
    )
    rows = len(prompts)
    cache = _cache_bytes(config.decoder, read + made, rows, element_bytes)
    cache += _cache_bytes(config.predictor, config.num_codebooks, rows, element_bytes)
    widest = max(config.decoder.intermediate_size, config.vocab_size)
    return cache + _LIVE_TENSORS * rows * read * widest * element_bytes


def _cache_bytes(config: QwenConfig, positions: int, rows: int, element_bytes: int) -> int:
    position = kv_position_bytes(config.num_kv_heads, config.head_dim, element_bytes)
    return peak_bytes(position, config.num_layers, positions, "dynamic", rows)


def codec_bytes(config: CodecConfig, frames: int, element_bytes: int) -> int:
    """Activations of one chunk of the codec decoder."""
    return round(frames * CODEC_ELEMENTS_PER_FRAME * config.decoder_dim / OFFICIAL_DECODER_DIM) * element_bytes


def voice_bytes(config: MimiConfig, seconds: float, element_bytes: int) -> int:
    """Activations of the encoders over a reference."""
    return round(seconds * VOICE_ELEMENTS_PER_SECOND * config.num_filters / OFFICIAL_FILTERS) * element_bytes
