"""Working memory of the phases, from the request (S161, S162). Wrong guesses cost a retry, never a result."""

from __future__ import annotations

from ...mizuoto_runtime.nn.dit import DitBlock
from ...mizuoto_runtime.nn.vocos import VocosConfig
from .config import TransformerConfig

# Live tensors at the peak, traced at the official sizes, in units of one of frames x width, and a tenth more.
_STEP_TENSORS, _TEXT_TENSORS, _CODEC_TENSORS = 10.3, 9.0, 12.6
_FLOAT_BYTES = 4


def talker_bytes(config: TransformerConfig, frames: int, steps: int, rows: int, element_bytes: int) -> int:
    """Activations of one step, the text encoder's before it, and what all steps share.

    Args:
        config: Of the transformer.
        frames: Of reference and speech.
        steps: Number of steps.
        rows: 2 with guidance, else 1.
        element_bytes: Of the weights' type.
    """
    width = max(config.hidden_size, config.intermediate_size / 2)
    step = _STEP_TENSORS * rows * frames * width
    text = _TEXT_TENSORS * frames * config.text_size
    modulations = steps * (DitBlock.NUM_PARTS * config.num_layers + 2) * config.hidden_size
    return int(max(step + rows * frames * config.text_size, text) + modulations) * element_bytes


def codec_bytes(config: VocosConfig, frames: int) -> int:
    """Activations of the vocoder, which computes in float32."""
    width = max(config.hidden_size, config.intermediate_size / 3, (config.n_fft + 2) / 2)
    return int(_CODEC_TENSORS * frames * width) * _FLOAT_BYTES
