"""The decoder: prosody and features of the text to a waveform; the only phase that draws."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from ...mizuoto_runtime import ops
from ...mizuoto_runtime.errors import InvalidRequest
from ...mizuoto_runtime.nn.adain import AdaINBlock
from ...mizuoto_runtime.nn.istftnet import IstftNet
from ...mizuoto_runtime.nn.nsf import draw_noise
from .config import CURVE_VALUES, CheckpointConfig

_TEXT_CHANNELS = 64  # of the text that every block reads again
_NUM_BLOCKS = 4


class CodecDecoder(nn.Module):
    """`Prosody` and a style -> waveform, one utterance at a time, float32.

    Source: Decoder, kokoro 0.9.4.
    """

    def __init__(self, config: CheckpointConfig) -> None:
        super().__init__()
        size, style_size = 2 * config.hidden_size, config.style_size
        self.config = config
        self.f0_conv, self.energy_conv = (ops.Conv1d(1, 1, 3, stride=2, padding=1) for _ in range(2))
        self.text_conv = ops.Conv1d(config.hidden_size, _TEXT_CHANNELS, 1)
        self.encode = AdaINBlock(config.hidden_size + 2, size, style_size)
        self.decode = nn.ModuleList(
            AdaINBlock(size + _TEXT_CHANNELS + 2, size, style_size) for _ in range(_NUM_BLOCKS - 1)
        )
        self.decode.append(AdaINBlock(size + _TEXT_CHANNELS + 2, config.vocoder.channels, style_size, upsample=True))
        self.vocoder = IstftNet(config.vocoder)

    def memory_units(self) -> list[str]:
        """Names of the submodules whose weights may move one by one."""
        units = ["text_conv", "encode", *(f"decode.{index}" for index in range(len(self.decode)))]
        return [*units, *(f"vocoder.{unit}" for unit in self.vocoder.memory_units())]

    def forward(
        self,
        text: torch.Tensor,
        f0: torch.Tensor,
        energy: torch.Tensor,
        style: torch.Tensor,
        generator: torch.Generator,
        on_block: Callable[[], None],
    ) -> torch.Tensor:
        """Waveform of one utterance, [1, 2F * 300] at 24 kHz.

        Args:
            text: [1, hidden_size, F].
            f0: [1, 2F] Hz.
            energy: [1, 2F].
            style: [1, style_size], how the voice sounds.
            generator: Draws the noise on its own device, so a CPU generator gives every device one stream.
            on_block: Called before every block; may raise to stop.

        Raises:
            InvalidRequest: The lengths contradict each other.
        """
        if not f0.shape[1] == energy.shape[1] == CURVE_VALUES * text.shape[2]:
            raise InvalidRequest(
                f"The codes hold {f0.shape[1]} pitch and {energy.shape[1]} energy values for {text.shape[2]} frames, "
                f"which take {CURVE_VALUES} each; make them anew."
            )
        noise = draw_noise(f0.shape[1] * self.config.vocoder.samples_per_frame, generator).to(f0.device)
        curves = torch.cat((self.f0_conv(f0[:, None]), self.energy_conv(energy[:, None])), dim=1)
        hidden = self.encode(torch.cat((text, curves), dim=1), style)
        side = torch.cat((self.text_conv(text), curves), dim=1)
        for block in self.decode:
            on_block()
            hidden = block(torch.cat((hidden, side), dim=1), style)
        waveform: torch.Tensor = self.vocoder(hidden, style, f0, noise, on_block)
        return waveform
