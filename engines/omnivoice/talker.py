"""The language model: a prompt and codes, some of them masked, to what every one of them may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import nn

from ...mizuoto_runtime import ops
from ...mizuoto_runtime.lm.cache import Step, WholeSequence
from ...mizuoto_runtime.lm.qwen import QwenDecoder
from .config import TalkerConfig
from .prompt import Prompt

_FEWEST = 2  # positions of a row that pass the heads: products of fewer rows round differently


class GuidedPair(WholeSequence):
    """What positions of a prompt see of each other, with and without guidance: all, in both directions.

    The first row is the whole prompt, the second one its frames alone; what follows them there sees itself only.

    Args:
        length: Positions of the prompt.
        frames: Positions of the frames at its end.
        rows: 1 without guidance, else 2.
        device: Where the mask lives.
    """

    def __init__(self, length: int, frames: int, rows: int, device: torch.device) -> None:
        super().__init__()
        mask = torch.ones(rows, 1, length, length, dtype=torch.bool, device=device)
        if rows > 1:
            inside = torch.arange(length, device=device) < frames
            mask[1] = (inside[:, None] & inside) | torch.eye(length, dtype=torch.bool, device=device)
        self._mask = mask

    def begin(self, num_tokens: int, device: torch.device) -> Step:
        """See `KvCache`."""
        return replace(super().begin(num_tokens, device), mask=self._mask)


class Talker(nn.Module):
    """Embeddings, the layers of a Qwen3 without its causal mask, and a head for every codebook.

    Args:
        config: Its shape.
        text_embedding: Text ids on the CPU to their embeddings there, in whatever dtype.

    Source: OmniVoice.forward, omnivoice 0.2.1.
    """

    def __init__(self, config: TalkerConfig, text_embedding: nn.Module) -> None:
        super().__init__()
        self.config = config
        self.text_embedding = text_embedding
        size, codes = config.decoder.hidden_size, config.num_codebooks * config.codebook_size
        self.audio_embeddings = ops.Embedding(codes, size)
        self.decoder = QwenDecoder(config.decoder)
        self.audio_heads = ops.Linear(size, codes, bias=False)

    def memory_units(self) -> list[str]:
        """Names of the submodules whose weights may move one by one."""
        return [*(f"decoder.layers.{index}" for index in range(self.config.decoder.num_layers)), "audio_heads"]

    def opening(self, prompt: Prompt, device: torch.device) -> torch.Tensor:
        """What stands before the frames, [L, hidden_size]; it stays the same in every step."""
        text = self.text_embedding(prompt.text).to(device, self.audio_embeddings.weight.dtype)
        if prompt.reference is None:
            return text
        return torch.cat((text, self._embedded(prompt.reference.to(device))))

    def forward(
        self, opening: torch.Tensor, codes: torch.Tensor, pair: GuidedPair, rows: int
    ) -> Sequence[torch.Tensor]:
        """Scores of the frames' codes in every row, [K, T, codebook_size] float32 each.

        Args:
            opening: From `opening`.
            codes: [K, T] int64, masked where they are not known.
            pair: Made for this prompt.
            rows: As in `pair`.
        """
        frames = self._embedded(codes)
        before, count = len(opening), len(frames)
        embeddings = opening.new_zeros(rows, before + count, opening.shape[-1])
        embeddings[0, :before], embeddings[0, before:] = opening, frames
        embeddings[1:, :count] = frames
        hidden = self.decoder(embeddings, pair)
        shown = max(count, _FEWEST)
        logits = self.audio_heads(torch.cat((hidden[:1, -shown:], hidden[1:, :shown])))
        by_book = logits.unflatten(-1, (self.config.num_codebooks, -1)).transpose(1, 2)
        return [row[:, part].float() for row, part in zip(by_book, (slice(-count, None), slice(count)), strict=False)]

    def _embedded(self, codes: torch.Tensor) -> torch.Tensor:
        """[K, T] int64 -> [T, hidden_size], the sum over the codebooks."""
        first = torch.arange(self.config.num_codebooks, device=codes.device) * self.config.codebook_size
        found: torch.Tensor = self.audio_embeddings(codes + first[:, None])
        return found.sum(0)
