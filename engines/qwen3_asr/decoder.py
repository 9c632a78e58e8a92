"""The decoder: a Qwen3 that reads text and sound and writes text."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from ...mizuoto_runtime import ops
from ...mizuoto_runtime.lm.cache import KvCache
from ...mizuoto_runtime.lm.qwen import QwenDecoder
from .config import CheckpointConfig
from .prompt import Prompt


class TextDecoder(nn.Module):
    """Prompt and sound to embeddings, embeddings to hidden states, hidden states to scores of tokens."""

    def __init__(self, config: CheckpointConfig) -> None:
        super().__init__()
        self.config = config
        hidden_size = config.decoder.hidden_size
        self.embedding = ops.Embedding(config.vocab_size, hidden_size)
        self.body = QwenDecoder(config.decoder)
        self.head = ops.Linear(hidden_size, config.vocab_size, bias=False)
        if config.is_tied:
            self.head.weight = self.embedding.weight

    def memory_units(self) -> list[str]:
        """Names of the parts that move between memories as one."""
        return [f"body.layers.{index}" for index in range(len(self.body.layers))]

    def read(self, prompt: Prompt, audio: torch.Tensor, cache: KvCache) -> torch.Tensor:
        """States of the prompt with `audio` [T, hidden_size] in it, [1, L, hidden_size]; `cache` is empty before."""
        weight = self.embedding.weight
        before, after = (self.embedding(ids.to(weight.device)) for ids in (prompt.before, prompt.after))
        return self.body(torch.cat((before, audio.to(weight)[None], after), dim=1), cache)

    def go_on(self, ids: Sequence[int], cache: KvCache) -> torch.Tensor:
        """States of tokens that follow those in `cache`, [1, len(ids), hidden_size]."""
        return self.body(self.embedding(torch.tensor([ids], device=self.embedding.weight.device)), cache)

    def scores(self, hidden: torch.Tensor) -> torch.Tensor:
        """[1, T, hidden_size] -> scores of the token after the last position, [1, vocab_size].

        Upstream computes those of all positions, which for minutes of sound take gigabytes, and uses the last.
        """
        return self.head(hidden[:, -1])
