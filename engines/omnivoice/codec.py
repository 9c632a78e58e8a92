"""The codec decoder: codes at 25 Hz to a 24 kHz waveform."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from ...mizuoto_runtime import ops
from ...mizuoto_runtime.errors import InvalidRequest
from ...mizuoto_runtime.nn.dac import DacDecoder
from ..artifacts import Segment
from .config import CodecConfig
from .quantizer import Quantizer
from .voice import CODES, LEVEL

LENGTHS = "lengths"  # frames of each chunk in a segment's codes
TIDIED = "tidied"  # there if long silences are cut from its sound


@dataclass(frozen=True, slots=True)
class Take:
    """A segment's codes, checked.

    Attributes:
        chunks: [K, T] int64 each.
        level: Root mean square of the reference; None without one.
        is_tidied: Whether long silences are cut.
    """

    chunks: tuple[torch.Tensor, ...]
    level: float | None
    is_tidied: bool


def take_of(segment: Segment) -> Take:
    """What a segment, which may come from anywhere, holds for the decoder.

    Raises:
        InvalidRequest: It is not what the talker gives.
    """
    codes, lengths, level = (segment.tensors.get(name) for name in (CODES, LENGTHS, LEVEL))
    if codes is not None and lengths is not None and codes.dtype == lengths.dtype == torch.int64:
        frames = lengths.tolist() if lengths.dim() == 1 else []
        is_table = codes.dim() == 2 and bool(frames) and min(frames) > 0 and sum(frames) == codes.shape[1]
        if is_table and (level is None or (level.shape == (1,) and 0 <= float(level) < float("inf"))):
            found = None if level is None else float(level)
            return Take(codes.split(frames, dim=1), found, TIDIED in segment.tensors)
    raise InvalidRequest("The codes are damaged, or of another kind of model; make them again with a Talker node.")


class CodecDecoder(nn.Module):
    """Codes -> waveform.

    Source: HiggsAudioV2TokenizerModel.decode, transformers 5.24.0.
    """

    def __init__(self, config: CodecConfig) -> None:
        super().__init__()
        self.config = config
        shape = (config.num_codebooks, config.codebook_size, config.codebook_dim, config.hidden_size)
        self.quantizer = Quantizer(*shape, is_encoder=False)
        self.projection = ops.Linear(config.hidden_size, config.acoustic.latent_dim)
        self.acoustic = DacDecoder(config.acoustic, is_whole=True, is_bounded=False)

    def memory_units(self) -> list[str]:
        """Names of the submodules whose weights may move one by one."""
        return [f"acoustic.{unit}" for unit in self.acoustic.memory_units()]

    def forward(self, codes: torch.Tensor) -> torch.Tensor:
        """[B, K, T] int64 -> [B, 1, T * 960].

        Raises:
            InvalidRequest: The codes are none of this codec's, or there are none.
        """
        size = self.config.codebook_size
        if codes.shape[1] != self.config.num_codebooks or not codes.shape[-1]:
            raise InvalidRequest(
                f"The codes are {codes.shape[-1]} frames of {codes.shape[1]} codebooks, and this codec needs at least "
                f"one frame of {self.config.num_codebooks}; make them with a model of this kind."
            )
        if int(codes.min()) < 0 or int(codes.max()) >= size:
            raise InvalidRequest(f"Some codes are beyond the codec's {size}; make them with a model of this kind.")
        latent = self.projection(self.quantizer.decode(codes).transpose(1, 2)).transpose(1, 2)
        return self.acoustic(latent)
