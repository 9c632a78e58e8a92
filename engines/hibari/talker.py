"""The talker: how long, how high and how loud each phoneme is spoken."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from ...mizuoto_runtime.errors import InvalidRequest
from ...mizuoto_runtime.nn.conv import ChannelsLastConv1d
from ...mizuoto_runtime.nn.convnext import ConvNeXtBlock
from .config import MAX_SPEED, MIN_SPEED, NORM_EPS, PROSODY_FRAMES, TalkerConfig
from .text_encoder import TextEncoder, stretch


class Prosody(NamedTuple):
    """What the talker decides, F being the sum of the durations."""

    durations: torch.Tensor  # [1, T] int64, 40 Hz frames, at least 1 each
    f0: torch.Tensor  # [1, 2F] Hz at 80 Hz; up to 40 is unvoiced
    energy: torch.Tensor  # [1, 2F] at 80 Hz


class DurationHead(nn.Module):
    """Predicts the logarithm of one plus the frames of each phoneme."""

    def __init__(self, channels: int, kernel_size: int) -> None:
        super().__init__()
        self.conv = ChannelsLastConv1d(channels, channels, kernel_size)
        self.out = ChannelsLastConv1d(channels, 1, 1)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[1, T, channels] -> [1, T]."""
        return self.out(F.gelu(self.conv(hidden))).squeeze(-1)


class Talker(nn.Module):
    """Phoneme ids -> `Prosody`, one utterance at a time, float32.

    Source: hibari-tts 0.2.1, the `pn.` part of hibari/assets/hibari.onnx.
    """

    def __init__(self, config: TalkerConfig | None = None) -> None:
        super().__init__()
        self.config = config = config or TalkerConfig()
        size = config.text.hidden_size
        self.text = TextEncoder(config.text, "hibari:talker.text")
        self.duration = DurationHead(size, config.duration_kernel_size)
        self.prosody_in = ChannelsLastConv1d(size, size, 1)
        self.blocks = nn.ModuleList(
            ConvNeXtBlock(size, config.text.intermediate_size, config.kernel_size, dilation, NORM_EPS)
            for dilation in config.dilations
        )
        self.prosody_out = ChannelsLastConv1d(size, 2 * PROSODY_FRAMES, 1)

    def memory_units(self) -> list[str]:
        """Names of the submodules whose weights may move one by one."""
        return [f"blocks.{index}" for index in range(len(self.blocks))]

    def forward(self, text_ids: torch.Tensor, speed: float = 1.0) -> Prosody:
        """Prosody of one utterance.

        Args:
            text_ids: [1, T] int64, T >= 1, a pad id at both ends.
            speed: 0.5 (slow) to 2 (fast).

        Raises:
            InvalidRequest: `speed` is out of range.
        """
        if not MIN_SPEED <= speed <= MAX_SPEED:
            raise InvalidRequest(f"hibari speaks at a speed of {MIN_SPEED:g} to {MAX_SPEED:g}, not {speed:g}.")
        hidden = self.text(text_ids)
        durations = torch.round((torch.exp(self.duration(hidden)) - 1.0) / speed).clamp(min=1.0).long()
        hidden = self.prosody_in(stretch(hidden, durations))
        for block in self.blocks:
            hidden = block(hidden)
        # Channels: f0 of the first and second half of a frame, then energy of both.
        f0, energy = self.prosody_out(hidden).chunk(2, dim=-1)
        return Prosody(durations, f0.flatten(1) * self.config.f0_scale_hz, energy.flatten(1) * self.config.energy_scale)
