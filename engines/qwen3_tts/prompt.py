"""What the talker is asked: chat-formatted text, language, voice. Ids only; the talker makes embeddings of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ...mizuoto_runtime.text.bpe import ByteBpe
from .config import CheckpointConfig

ROLE_IDS = 3  # of "<|im_start|>assistant\n"
_TURN_END_IDS = 2  # of "<|im_end|>\n"
_CLOSING_IDS = _TURN_END_IDS + ROLE_IDS


@dataclass(frozen=True, slots=True)
class Voice:
    """Who speaks.

    Attributes:
        speaker: Name of a preset, or "".
        x_vector: [hidden_size] of a reference recording.
        codes: [T, codebooks] of the same, if its words are known.
        transcript: These words.
    """

    speaker: str = ""
    x_vector: torch.Tensor | None = None
    codes: torch.Tensor | None = None
    transcript: str = ""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One text to say; id tensors are [1, N] int64 on the CPU.

    Attributes:
        instruction: The user's turn, or None.
        role: How the assistant's turn begins.
        text: What to say.
        reference_text: What is said in the reference; None without its codes.
        control: Codec ids that tell the language.
        speaker: Codec id of a preset, or None.
        x_vector: [hidden_size], or None.
        codes: [T, codebooks] of the reference, or None.
        is_streamed: The text arrives one token a frame instead of all before the first frame.
    """

    instruction: torch.Tensor | None
    role: torch.Tensor
    text: torch.Tensor
    reference_text: torch.Tensor | None
    control: torch.Tensor
    speaker: int | None
    x_vector: torch.Tensor | None
    codes: torch.Tensor | None
    is_streamed: bool

    @property
    def num_positions(self) -> int:
        """Positions that the talker reads before the first frame."""
        opening = ROLE_IDS + self.control.shape[1] + (self.speaker is not None or self.x_vector is not None) + 1
        if self.instruction is not None:
            opening += self.instruction.shape[1]
        words = 0 if self.is_streamed else self.text.shape[1] + 1
        if self.codes is not None and self.reference_text is not None:
            if not self.is_streamed:
                words += self.reference_text.shape[1]
            return opening + words + len(self.codes) + 1
        return opening + words + 1


class PromptBuilder:
    """Makes prompts for one checkpoint.

    Source: qwen-tts 0.1.1, Qwen3TTSModel.generate_* and Qwen3TTSForConditionalGeneration.generate.
    """

    def __init__(self, config: CheckpointConfig, bpe: ByteBpe) -> None:
        self._config = config
        self._bpe = bpe

    def __call__(self, text: str, voice: Voice, language: str, instruction: str, is_streamed: bool) -> Prompt:
        """The prompt for `text`.

        Raises:
            InvalidRequest: The checkpoint does not know the language.
        """
        turn = self._ids(f"<|im_start|>assistant\n{text}<|im_end|>\n<|im_start|>assistant\n")
        reference = None
        if voice.codes is not None:
            reference = self._ids(f"<|im_start|>assistant\n{voice.transcript}<|im_end|>\n")
        return Prompt(
            instruction=_tensor(self._ids(f"<|im_start|>user\n{instruction}<|im_end|>\n")) if instruction else None,
            role=_tensor(turn[:ROLE_IDS]),
            text=_tensor(turn[ROLE_IDS:-_CLOSING_IDS]),
            reference_text=None if reference is None else _tensor(reference[ROLE_IDS:-_TURN_END_IDS]),
            control=_tensor(self._control(self._config.language_id(language, voice.speaker))),
            speaker=self._config.speakers[voice.speaker] if voice.speaker else None,
            x_vector=voice.x_vector,
            codes=voice.codes,
            is_streamed=is_streamed,
        )

    def _ids(self, text: str) -> list[int]:
        return self._bpe.encode(text)

    def _control(self, language_id: int | None) -> list[int]:
        tokens = self._config.talker.tokens
        if language_id is None:
            return [tokens.nothink, tokens.think_bos, tokens.think_eos]
        return [tokens.think, tokens.think_bos, language_id, tokens.think_eos]


def _tensor(ids: Sequence[int]) -> torch.Tensor:
    return torch.tensor([ids], dtype=torch.int64)
