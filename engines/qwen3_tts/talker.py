"""The talker: a Qwen3 decoder that reads text and codes and says the next frame, codebook by codebook."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import nn

from ...mizuoto_runtime import ops
from ...mizuoto_runtime.lm.cache import KvCache
from ...mizuoto_runtime.lm.qwen import QwenDecoder
from ...mizuoto_runtime.lm.sampling import Sampler
from .config import TalkerConfig, TextTokens
from .prompt import Prompt


class TextProjection(nn.Module):
    """Text embeddings to the talker's width."""

    def __init__(self, text_hidden_size: int, hidden_size: int) -> None:
        super().__init__()
        self.linear_fc1 = ops.Linear(text_hidden_size, text_hidden_size)
        self.linear_fc2 = ops.Linear(text_hidden_size, hidden_size)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, T, text_hidden_size] -> [B, T, hidden_size]."""
        return self.linear_fc2(F.silu(self.linear_fc1(hidden)))


class CodePredictor(nn.Module):
    """The codes of a frame after its first one, each from those before it."""

    def __init__(self, config: TalkerConfig) -> None:
        super().__init__()
        hidden_size, inner = config.decoder.hidden_size, config.predictor.hidden_size
        later = config.num_codebooks - 1
        self.embeddings = nn.ModuleList(ops.Embedding(config.codebook_size, hidden_size) for _ in range(later))
        self.projection = ops.Linear(hidden_size, inner) if config.has_predictor_projection else nn.Identity()
        self.decoder = QwenDecoder(config.predictor)
        self.heads = nn.ModuleList(ops.Linear(inner, config.codebook_size, bias=False) for _ in range(later))

    def forward(
        self,
        hidden: torch.Tensor,
        first: torch.Tensor,
        cache: KvCache,
        sampler: Sampler,
        generator: torch.Generator | None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Codes [B, codebooks - 1] and their embeddings [B, codebooks - 1, hidden_size].

        Args:
            hidden: [B, 1, hidden_size], the talker's last hidden state.
            first: [B, 1, hidden_size], embedding of the frame's first code.
            cache: Empty.
            sampler: Chooses each code.
            generator: What it draws from.
        """
        codes, embedded = [], []
        inputs = torch.cat((hidden, first), dim=1)
        for embedding, head in zip(self.embeddings, self.heads, strict=True):
            states = self.decoder(self.projection(inputs), cache)
            code = sampler.pick(head(states)[:, -1], generator)
            inputs = embedding(code[:, None])
            codes.append(code)
            embedded.append(inputs)
        return torch.stack(codes, dim=1), torch.cat(embedded, dim=1)


class Talker(nn.Module):
    """Prompt to embeddings, embeddings to hidden states, hidden states to frames.

    Args:
        config: Its shape.
        text_tokens: Ids of special tokens.
        text_embedding: Text ids on the CPU to their embeddings there, in whatever dtype.
    """

    def __init__(self, config: TalkerConfig, text_tokens: TextTokens, text_embedding: nn.Module) -> None:
        super().__init__()
        self.config = config
        self._text_tokens = text_tokens
        hidden_size = config.decoder.hidden_size
        self.text_embedding = text_embedding
        self.text_projection = TextProjection(config.text_hidden_size, hidden_size)
        self.codec_embedding = ops.Embedding(config.vocab_size, hidden_size)
        self.decoder = QwenDecoder(config.decoder)
        self.codec_head = ops.Linear(hidden_size, config.vocab_size, bias=False)
        self.predictor = CodePredictor(config)

    def embed(self, prompt: Prompt, device: torch.device) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """What the talker reads before its first frame, and the text that it reads along with later ones.

        Every product runs over the very rows that it has upstream: other groupings round differently.

        Returns:
            [1, L, hidden_size]; [1, R, hidden_size], added to the frames one by one; [1, 1, hidden_size], added to
            all frames after them.
        """
        tokens = self.config.tokens
        special = self._text_tokens
        bos, eos, pad = self._text([[special.bos, special.eos, special.pad]], device).chunk(3, dim=1)
        opening = self._codec(prompt.control, device)
        voice = self._speaker(prompt, device)
        ending = self._codec(torch.tensor([[tokens.pad, tokens.bos]]), device)
        codec = torch.cat([opening, *voice, ending], dim=1)
        spoken = torch.cat((pad.expand(-1, codec.shape[1] - 2, -1), bos), dim=1)
        parts = [self._text(prompt.role, device), spoken + codec[:, :-1]]
        if prompt.instruction is not None:
            parts.insert(0, self._text(prompt.instruction, device))
        if prompt.codes is not None:
            body, trailing = self._continuation(prompt, eos, pad, device)
        elif prompt.is_streamed:
            body = self._text(prompt.text[:, :1], device) + codec[:, -1:]
            trailing = torch.cat((self._text(prompt.text[:, 1:], device), eos), dim=1)
        else:
            text = torch.cat((self._text(prompt.text, device), eos), dim=1)
            body = torch.cat((text + self._pads(text.shape[1], device), pad + codec[:, -1:]), dim=1)
            trailing = pad
        return torch.cat([*parts, body], dim=1), trailing, pad

    def frame_logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, T, hidden_size] -> scores of the next frame's first code, [B, vocab_size]."""
        return self.codec_head(hidden)[:, -1]

    def frame(
        self,
        hidden: torch.Tensor,
        first: torch.Tensor,
        sampler: Sampler,
        generator: torch.Generator | None,
        cache: KvCache,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """A whole frame [B, codebooks] from its first code [B], and the sum of its embeddings [B, 1, hidden_size].

        `cache` is the predictor's and empty.
        """
        embedded = self.codec_embedding(first[:, None])
        rest, others = self.predictor(hidden[:, -1:], embedded, cache, sampler, generator)
        codes = torch.cat((first[:, None], rest), dim=1)
        return codes, torch.cat((embedded, others), dim=1).sum(1, keepdim=True)

    def _text(self, ids: torch.Tensor | Sequence[Sequence[int]], device: torch.device) -> torch.Tensor:
        embedded = self.text_embedding(torch.as_tensor(ids))
        return self.text_projection(embedded.to(device, self.codec_embedding.weight.dtype))

    def _codec(self, ids: torch.Tensor, device: torch.device) -> torch.Tensor:
        return self.codec_embedding(ids.to(device))

    def _pads(self, count: int, device: torch.device) -> torch.Tensor:
        return self._codec(torch.full((1, count), self.config.tokens.pad), device)

    def _speaker(self, prompt: Prompt, device: torch.device) -> list[torch.Tensor]:
        if prompt.speaker is not None:
            return [self._codec(torch.tensor([[prompt.speaker]]), device)]
        if prompt.x_vector is not None:
            return [prompt.x_vector.to(device, self.codec_embedding.weight.dtype)[None, None]]
        return []

    def _continuation(
        self, prompt: Prompt, eos: torch.Tensor, pad: torch.Tensor, device: torch.device
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The reference's words and codes, to be continued by the text (in-context learning)."""
        assert prompt.reference_text is not None and prompt.codes is not None
        text = torch.cat((self._text(torch.cat((prompt.reference_text, prompt.text), dim=1), device), eos), dim=1)
        codes = prompt.codes.to(device)
        embeddings = [self.codec_embedding, *self.predictor.embeddings]
        frames = [embedding(codes[:, index : index + 1]) for index, embedding in enumerate(embeddings)]
        summed = torch.cat(frames, dim=1).sum(1)[None]
        codec = torch.cat((self._codec(torch.tensor([[self.config.tokens.bos]]), device), summed), dim=1)
        if not prompt.is_streamed:
            return torch.cat((text + self._pads(text.shape[1], device), codec + pad), dim=1), pad
        missing = codec.shape[1] - text.shape[1]
        if missing < 0:
            return text[:, :missing] + codec, text[:, missing:]
        return torch.cat((text, *[pad] * missing), dim=1) + codec, pad
