"""Sound to what the decoder reads: thirteen positions a second, heard in windows of eight."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from ...mizuoto_runtime import ops
from ...mizuoto_runtime.attention import Site, attend
from .config import CHUNK_FRAMES, AudioConfig

CONV_CHUNKS = 16
"""Chunks that the convolutions see at once, for the sake of memory."""

_STRIDE, _NUM_CONVS = 2, 3
_MAX_PERIOD = 10000.0
_FP16_ROOM = 1000.0  # upstream's distance to the largest number


def num_positions(num_frames: int) -> int:
    """Positions that so many mel frames become."""
    whole, rest = divmod(num_frames, CHUNK_FRAMES)
    return whole * _halved(CHUNK_FRAMES) + _halved(rest)


class AudioEncoder(nn.Module):
    """Convolutions over chunks of a second, transformer layers over windows of several, and a projection.

    Source: Qwen3ASRAudioEncoder, qwen-asr 0.0.6. Its windows hold with flash attention, and in the other
    implementations of the model (vLLM, transformers 5); with torch's attention that package leaves them away.
    """

    def __init__(self, config: AudioConfig) -> None:
        super().__init__()
        self.config = config
        width, channels = config.hidden_size, config.channels
        self.conv2d1 = ops.Conv2d(1, channels, 3, _STRIDE, padding=1)
        self.conv2d2 = ops.Conv2d(channels, channels, 3, _STRIDE, padding=1)
        self.conv2d3 = ops.Conv2d(channels, channels, 3, _STRIDE, padding=1)
        self.conv_out = ops.Linear(channels * _halved(config.num_mels), width, bias=False)
        self.layers = nn.ModuleList(AudioLayer(config) for _ in range(config.num_layers))
        self.ln_post = ops.LayerNorm(width)
        self.proj1 = ops.Linear(width, width)
        self.proj2 = ops.Linear(width, config.output_size)

    def memory_units(self) -> list[str]:
        """Names of the parts that move between memories as one."""
        return [f"layers.{index}" for index in range(len(self.layers))]

    def forward(self, mel: torch.Tensor) -> torch.Tensor:
        """[num_mels, F] -> [num_positions(F), output_size]."""
        chunks = _chunks(mel)
        embedded = torch.cat([self._convolved(some) for some in chunks.split(CONV_CHUNKS)])
        embedded = self.conv_out(embedded.permute(0, 3, 1, 2).flatten(2))  # [N, t, hidden_size]
        chunk_length = embedded.shape[1]
        embedded = embedded + sinusoids(chunk_length, embedded.shape[2]).to(embedded)
        hidden = embedded.flatten(0, 1)[: num_positions(mel.shape[1])]  # only the last chunk is filled up
        for layer in self.layers:
            hidden = layer(hidden, chunk_length * self.config.window_chunks)
        return self.proj2(F.gelu(self.proj1(self.ln_post(hidden))))

    def _convolved(self, chunks: torch.Tensor) -> torch.Tensor:
        """[N, 1, num_mels, F] -> [N, channels, num_mels / 8, F / 8]."""
        for conv in (self.conv2d1, self.conv2d2, self.conv2d3):
            chunks = F.gelu(conv(chunks))
        return chunks


class AudioLayer(nn.Module):
    """Attention within windows and a feed-forward part, each behind a norm and added to its input.

    Source: Qwen3ASRAudioEncoderLayer, qwen-asr 0.0.6.
    """

    def __init__(self, config: AudioConfig) -> None:
        super().__init__()
        width = config.hidden_size
        self.self_attn = WindowedAttention(config.site)
        self.self_attn_layer_norm = ops.LayerNorm(width)
        self.fc1 = ops.Linear(width, config.intermediate_size)
        self.fc2 = ops.Linear(config.intermediate_size, width)
        self.final_layer_norm = ops.LayerNorm(width)

    def forward(self, hidden: torch.Tensor, window: int) -> torch.Tensor:
        """[T, hidden_size], like `hidden`; positions see each other within windows of `window`."""
        hidden = hidden + self.self_attn(self.self_attn_layer_norm(hidden), window)
        hidden = hidden + self.fc2(F.gelu(self.fc1(self.final_layer_norm(hidden))))
        if hidden.dtype == torch.float16:
            limit = torch.finfo(torch.float16).max - _FP16_ROOM
            hidden = hidden.clamp(-limit, limit)
        return hidden


class WindowedAttention(nn.Module):
    """Multi-head attention of a sequence that is cut into windows, the last of which may be shorter."""

    def __init__(self, site: Site) -> None:
        super().__init__()
        self.site = site
        width = site.num_heads * site.head_dim
        self.q_proj = ops.Linear(width, width)
        self.k_proj = ops.Linear(width, width)
        self.v_proj = ops.Linear(width, width)
        self.out_proj = ops.Linear(width, width)

    def forward(self, hidden: torch.Tensor, window: int) -> torch.Tensor:
        """[T, hidden_size], like `hidden`."""
        heads = [projection(hidden) for projection in (self.q_proj, self.k_proj, self.v_proj)]
        whole = len(hidden) // window * window
        mixed = [
            self._attended([part[start:stop] for part in heads], length)
            for start, stop, length in ((0, whole, window), (whole, len(hidden), len(hidden) - whole))
            if start < stop
        ]
        return self.out_proj(torch.cat(mixed))

    def _attended(self, heads: list[torch.Tensor], window: int) -> torch.Tensor:
        """[T, hidden_size] of queries, keys and values [T, hidden_size], T a multiple of `window`."""
        shape = (-1, window, self.site.num_heads, self.site.head_dim)
        query, key, value = (part.view(shape).transpose(1, 2) for part in heads)
        return attend(query, key, value, site=self.site).transpose(1, 2).flatten(2).flatten(0, 1)


def sinusoids(length: int, width: int) -> torch.Tensor:
    """Positions within a chunk, [length, width] float32 on the CPU: sines, then cosines.

    Source: SinusoidsPositionEmbedding, qwen-asr 0.0.6.
    """
    step = math.log(_MAX_PERIOD) / (width // 2 - 1)
    frequencies = torch.exp(-step * torch.arange(width // 2, device="cpu").float())
    angles = torch.arange(length, device="cpu")[:, None] * frequencies
    return torch.cat((angles.sin(), angles.cos()), dim=1)


def _chunks(mel: torch.Tensor) -> torch.Tensor:
    """[N, 1, num_mels, CHUNK_FRAMES], filled up with zeros; sound of less than a chunk stays as short as it is."""
    num_mels, num_frames = mel.shape
    length = min(num_frames, CHUNK_FRAMES)
    # Frames are rows in memory, as upstream has them: convolutions round by the layout.
    frames = F.pad(mel.T, (0, 0, 0, -num_frames % length))
    return frames.reshape(-1, length, num_mels).transpose(1, 2)[:, None]


def _halved(length: int) -> int:
    """What a length is after the convolutions."""
    for _ in range(_NUM_CONVS):
        length = (length - 1) // _STRIDE + 1
    return length
