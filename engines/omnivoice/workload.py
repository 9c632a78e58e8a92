"""Working memory of the phases, from the request (S161, S162). Wrong guesses cost a retry, never a result."""

from __future__ import annotations

from .config import CodecConfig, TalkerConfig
from .prompt import Prompt

# Live bytes of one second of sound at the official sizes, traced, and a tenth more for the kernels.
VOICE_BYTES_PER_SECOND = 32_400_000
CODEC_BYTES_PER_SECOND = 18_400_000
# What they are proportional to: the widest stages work on the most samples.
OFFICIAL_ENCODER_CHANNELS, OFFICIAL_DECODER_CHANNELS = 64, 1024

_LAYER_TENSORS = 20  # of the model's width that a layer holds at a time, traced, with its attention's
_LOGITS_TENSORS = 4  # of the heads' width, in float32, that the choice of the codes holds; with class noise 7
_NOISY_LOGITS_TENSORS = 7


def talker_bytes(config: TalkerConfig, prompt: Prompt, rows: int, is_noisy: bool, element_bytes: int) -> int:
    """Activations of one step."""
    length = prompt.num_positions
    layer = _LAYER_TENSORS * rows * length * config.decoder.hidden_size * element_bytes
    mask = rows * length * length * (1 + 4)  # and as numbers, which torch's kernel for the CPU makes of it
    tensors = _NOISY_LOGITS_TENSORS if is_noisy else _LOGITS_TENSORS
    logits = tensors * prompt.frames * config.num_codebooks * config.codebook_size * 4
    return layer + mask + logits


def codec_bytes(config: CodecConfig, seconds: float) -> int:
    """Activations of the codec decoder over one chunk, in float32."""
    return round(seconds * CODEC_BYTES_PER_SECOND * config.acoustic.decoder_channels / OFFICIAL_DECODER_CHANNELS)


def voice_bytes(config: CodecConfig, seconds: float) -> int:
    """Activations of the encoders over a reference, in float32."""
    return round(seconds * VOICE_BYTES_PER_SECOND * config.acoustic.encoder_channels / OFFICIAL_ENCODER_CHANNELS)
