"""The audio encoder: a spectrogram of 30 s to features that the decoder attends to."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from ...mizuoto_runtime import ops
from ...mizuoto_runtime.attention import Site
from ...mizuoto_runtime.nn.transformer import EncoderLayer
from .config import NUM_FEATURES, WhisperConfig


class AudioEncoder(nn.Module):
    """Two convolutions, of which the second halves the rate, and a transformer.

    Source: AudioEncoder, openai-whisper 20250625; WhisperEncoder, transformers 4.57.3.
    """

    def __init__(self, config: WhisperConfig) -> None:
        super().__init__()
        size, heads = config.hidden_size, config.encoder_heads
        self.conv1 = ops.Conv1d(config.num_mels, size, kernel_size=3, padding=1)
        self.conv2 = ops.Conv1d(size, size, kernel_size=3, stride=2, padding=1)
        self.positions = ops.Embedding(NUM_FEATURES, size)
        site = Site("whisper:encoder", heads, size // heads)
        self.layers = nn.ModuleList(EncoderLayer(site, config.encoder_size) for _ in range(config.encoder_layers))
        self.norm = ops.LayerNorm(size)

    def memory_units(self) -> list[str]:
        """What streams one after the other; read by `memory.units`."""
        return [f"layers.{index}" for index in range(len(self.layers))]

    def forward(self, mel: torch.Tensor) -> torch.Tensor:
        """[B, num_mels, 3000] in the weights' dtype -> [B, 1500, hidden_size]."""
        hidden = F.gelu(self.conv2(F.gelu(self.conv1(mel)))).transpose(1, 2)
        hidden = hidden + self.positions.weight
        for layer in self.layers:
            hidden = layer(hidden)
        return self.norm(hidden)
