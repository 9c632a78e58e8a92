"""The talker: how long each phoneme lasts, how high and loud the voice is, and what the decoder hears of the text."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn

from ...mizuoto_runtime import ops
from ...mizuoto_runtime.nn.adain import AdaINBlock
from ...mizuoto_runtime.nn.albert import Albert
from ...mizuoto_runtime.nn.lstm import BiLstm, ConvLstmEncoder, StyledLstmEncoder
from .config import CheckpointConfig


class Prosody(NamedTuple):
    """What the talker decides, F being the sum of the durations."""

    durations: torch.Tensor  # [1, T] int64, 40 Hz frames, at least 1 each
    text: torch.Tensor  # [1, hidden_size, F], features of the phonemes
    f0: torch.Tensor  # [1, 2F] Hz at 80 Hz
    energy: torch.Tensor  # [1, 2F] at 80 Hz


class Curve(nn.Module):
    """Features at 40 Hz -> one value at 80 Hz."""

    def __init__(self, channels: int, style_size: int) -> None:
        super().__init__()
        half = channels // 2
        self.blocks = nn.ModuleList(
            (
                AdaINBlock(channels, channels, style_size),
                AdaINBlock(channels, half, style_size, upsample=True),
                AdaINBlock(half, half, style_size),
            )
        )
        self.out = ops.Conv1d(half, 1, 1)

    def memory_units(self) -> list[str]:
        """Names of the submodules whose weights may move one by one."""
        return [f"blocks.{index}" for index in range(len(self.blocks))]

    def forward(self, hidden: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
        """[1, channels, F] -> [1, 2F]."""
        for block in self.blocks:
            hidden = block(hidden, style)
        return self.out(hidden)[:, 0]


class Talker(nn.Module):
    """Phoneme ids and a style -> `Prosody`, one utterance at a time.

    Source: kokoro 0.9.4, KModel without its decoder.
    """

    def __init__(self, config: CheckpointConfig) -> None:
        super().__init__()
        size, style_size = config.hidden_size, config.style_size
        self.bert = Albert(config.albert, "kokoro:talker.bert")
        self.bert_encoder = ops.Linear(config.albert.hidden_size, size)
        self.duration_encoder = StyledLstmEncoder(size, style_size, config.num_layers)
        self.duration_lstm = BiLstm(size + style_size, size)
        self.duration_out = ops.Linear(size, config.max_duration)
        self.curve_lstm = BiLstm(size + style_size, size)
        self.f0, self.energy = Curve(size, style_size), Curve(size, style_size)
        self.text_encoder = ConvLstmEncoder(config.vocab_size, size, config.text_kernel_size, config.num_layers)

    def memory_units(self) -> list[str]:
        """Names of the submodules whose weights may move one by one."""
        units = ["bert.layer", *(f"text_encoder.convs.{index}" for index in range(len(self.text_encoder.convs)))]
        for name, curve in (("f0", self.f0), ("energy", self.energy)):
            units += [f"{name}.{unit}" for unit in curve.memory_units()]
        return units

    def forward(self, ids: torch.Tensor, style: torch.Tensor, speed: float = 1.0) -> Prosody:
        """Prosody of one utterance; nothing in it is drawn.

        Args:
            ids: [1, T] int64, a boundary id at both ends.
            style: [1, style_size], how the voice speaks.
            speed: 0.5 is half as fast.
        """
        read = self.duration_encoder(self.bert_encoder(self.bert(ids)), style)
        frames = torch.sigmoid(self.duration_out(self.duration_lstm(read))).sum(dim=-1) / speed
        durations = torch.round(frames).clamp(min=1).long()
        f0, energy = self._curves(stretch(read, durations), style)
        return Prosody(durations, stretch(self.text_encoder(ids), durations).transpose(1, 2), f0, energy)

    def _curves(self, hidden: torch.Tensor, style: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = self.curve_lstm(hidden).transpose(1, 2)
        return self.f0(hidden, style), self.energy(hidden, style)


def stretch(hidden: torch.Tensor, durations: torch.Tensor) -> torch.Tensor:
    """Each step of [1, T, C] as often as its duration, [1, T], says: what upstream's product with ones gives."""
    return hidden.repeat_interleave(durations[0], dim=1)
