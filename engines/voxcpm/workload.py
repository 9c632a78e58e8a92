"""Working memory of the phases, from the request (S161, S162). Wrong guesses cost a retry, never a result."""

from __future__ import annotations

from collections.abc import Iterable

from ...mizuoto_runtime.lm.minicpm import MiniCpmConfig
from ...mizuoto_runtime.memory.estimate import kv_position_bytes, peak_bytes
from ...mizuoto_runtime.nn.audio_vae import AudioVaeConfig
from .config import CheckpointConfig

_LIVE_TENSORS = 5  # of the widest stage of the codec, or of a layer's feed-forward part
_FLOAT_BYTES = 4


def talker_bytes(config: CheckpointConfig, read: int, made: int, element_bytes: int) -> int:
    """Caches, and the activations of the prompt, of which the patches are read each behind a token of its own."""
    caches = sum(
        peak_bytes(kv_position_bytes(stack.num_kv_heads, stack.head_dim, element_bytes), stack.num_layers, read + made,
                   "dynamic")
        for stack in (config.base, config.residual)
    )  # fmt: skip
    rows = ((config.base, read), (config.encoder, read * (config.patch_size + 1)))
    widest = max(_layer_bytes(stack, num_rows, element_bytes) for stack, num_rows in rows)
    return caches + widest + _LIVE_TENSORS * read * config.base.hidden_size * element_bytes


def voice_bytes(config: AudioVaeConfig, frames: int) -> int:
    """Activations of the encoder over a recording."""
    return _codec_bytes(_encoder_stages(config), frames)


def codec_bytes(config: AudioVaeConfig, frames: int) -> int:
    """Activations of the decoder over frames."""
    return _codec_bytes(_decoder_stages(config), frames)


def _layer_bytes(stack: MiniCpmConfig, rows: int, element_bytes: int) -> int:
    return _LIVE_TENSORS * rows * (stack.intermediate_size + stack.hidden_size) * element_bytes


def _codec_bytes(stages: Iterable[int], frames: int) -> int:
    return _LIVE_TENSORS * max(stages) * frames * _FLOAT_BYTES


def _encoder_stages(config: AudioVaeConfig) -> Iterable[int]:
    """Numbers for each latent frame in the residual units of every stage."""
    channels, samples = config.encoder_dim, config.encode_hop
    for rate in config.encoder_rates:
        yield channels * samples
        channels, samples = 2 * channels, samples // rate


def _decoder_stages(config: AudioVaeConfig) -> Iterable[int]:
    channels, samples = config.decoder_dim, 1
    for rate in config.decoder_rates:
        channels, samples = channels // 2, samples * rate
        yield channels * samples
