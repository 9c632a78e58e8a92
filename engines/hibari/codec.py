"""The codec decoder: prosody and phonemes to spectra (the network), spectra to waveform (`synthesis.py`)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from ...mizuoto_runtime import ops
from ...mizuoto_runtime.errors import InvalidRequest
from ...mizuoto_runtime.nn.conv import ChannelsLastConv1d
from ...mizuoto_runtime.nn.convnext import ConvNeXtBlock
from .config import NORM_EPS, PROSODY_FRAMES, CodecConfig
from .synthesis import Spectra, draw_noise, synthesise
from .text_encoder import TextEncoder, stretch


class SpectrumHead(ops.Linear):
    """One linear layer whose outputs come as equal parts, each contiguous.

    Args:
        in_features: Input width.
        part_size: Width of one part.
        num_parts: How many parts.
    """

    def __init__(self, in_features: int, part_size: int, num_parts: int) -> None:
        super().__init__(in_features, part_size * num_parts)
        self.num_parts = num_parts

    def forward(self, hidden: torch.Tensor) -> tuple[torch.Tensor, ...]:  # type: ignore[override]
        """[..., in_features] -> `num_parts` tensors [..., part_size]."""
        # Five narrow products: one product of 3005 columns runs at half the speed (its rows alias in the cache).
        parts = zip(self.weight.chunk(self.num_parts), self.bias.chunk(self.num_parts), strict=True)
        return tuple(F.linear(hidden, weight, bias) for weight, bias in parts)


class CodecDecoder(nn.Module):
    """Phoneme ids and prosody -> waveform, one utterance at a time, float32.

    Source: hibari-tts 0.2.1, the `m.` part of hibari/assets/hibari.onnx, and hibari/dsp.py.
    """

    def __init__(self, config: CodecConfig | None = None) -> None:
        super().__init__()
        self.config = config = config or CodecConfig()
        size = config.hidden_size
        self.text = TextEncoder(config.text, "hibari:decoder.text")
        self.features_in = ChannelsLastConv1d(config.text.hidden_size + 2, size, config.kernel_size)
        self.blocks = nn.ModuleList(
            ConvNeXtBlock(size, config.intermediate_size, config.kernel_size, norm_eps=NORM_EPS)
            for _ in range(config.num_blocks)
        )
        self.norm = ops.LayerNorm(size, eps=NORM_EPS)
        self.head = SpectrumHead(size, config.num_bins, len(Spectra._fields))

    def memory_units(self) -> list[str]:
        """Names of the submodules whose weights may move one by one."""
        return [*(f"blocks.{index}" for index in range(len(self.blocks))), "head"]

    def spectra(
        self, text_ids: torch.Tensor, durations: torch.Tensor, f0: torch.Tensor, energy: torch.Tensor
    ) -> Spectra:
        """Spectrum parameters of one utterance, [F, bins] each at 80 Hz.

        Args:
            text_ids: [1, T] int64.
            durations: [1, T] int64, 40 Hz frames.
            f0: [1, F] Hz, F being twice the sum of the durations.
            energy: [1, F].

        Raises:
            InvalidRequest: The lengths contradict each other.
        """
        if text_ids.shape != durations.shape:
            raise InvalidRequest(
                f"The codes hold {text_ids.shape[-1]} phonemes and {durations.shape[-1]} durations; make them anew."
            )
        text = stretch(self.text(text_ids), durations, PROSODY_FRAMES)
        if not text.shape[1] == f0.shape[1] == energy.shape[1]:
            raise InvalidRequest(
                f"The codes hold {f0.shape[1]} pitch and {energy.shape[1]} energy values, and their durations "
                f"ask for {text.shape[1]}; make them anew."
            )
        pitch = torch.log(1.0 + F.relu(f0))
        features = torch.stack((pitch, energy), dim=-1) / self.config.feature_scale
        hidden = self.features_in(torch.cat((text, features), dim=-1))
        for block in self.blocks:
            hidden = block(hidden)
        return Spectra(*self.head(self.norm(hidden)[0]))

    def forward(
        self,
        text_ids: torch.Tensor,
        durations: torch.Tensor,
        f0: torch.Tensor,
        energy: torch.Tensor,
        generator: torch.Generator | None,
    ) -> torch.Tensor:
        """Waveform of one utterance, [1, 1, F * 300] at 24 kHz.

        Args:
            text_ids: [1, T] int64.
            durations: [1, T] int64, 40 Hz frames.
            f0: [1, F] Hz, F being twice the sum of the durations.
            energy: [1, F].
            generator: Draws the breath noise on its own device, so a CPU generator gives every device one stream.

        Raises:
            InvalidRequest: The lengths contradict each other.
            ValueError: There is no generator.
        """
        if generator is None:
            raise ValueError("CodecDecoder draws breath noise and needs a torch.Generator, got None")
        spectra = self.spectra(text_ids, durations, f0, energy)
        noise = draw_noise(spectra.noise_log.shape, generator).to(f0.device)
        return synthesise(spectra, f0[0], noise, self.config)[None, None]
