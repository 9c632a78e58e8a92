"""What the decoder is asked: the user's text, the sound, and how the answer begins. Ids only."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ...mizuoto_runtime.text.bpe import ByteBpe

TEXT_TAG = "<asr_text>"  # between what the model says about the language and the words
EOS_TOKENS = ("<|im_end|>", "<|endoftext|>")

_MARKS = re.compile(rf"<\|[^|]+\|>|{TEXT_TAG}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """Ids [1, N] int64 on the CPU, before the sound and after it."""

    before: torch.Tensor
    after: torch.Tensor

    @property
    def num_positions(self) -> int:
        """Without the sound."""
        return self.before.shape[1] + self.after.shape[1]


class PromptBuilder:
    """Makes prompts with one checkpoint's tokenizer.

    Source: qwen-asr 0.0.6, Qwen3ASRModel._build_text_prompt, with the chat template of the official folders.
    """

    def __init__(self, bpe: ByteBpe) -> None:
        self._bpe = bpe
        for token in ("<|im_start|>", "<|audio_start|>", "<|audio_end|>", TEXT_TAG):
            bpe.token_id(token)  # a tokenizer of another model would read them letter by letter
        self.eos_ids = tuple(bpe.token_id(token) for token in EOS_TOKENS)

    def __call__(self, context: str, language: str | None) -> Prompt:
        """The prompt with a text that helps to spell and, if it is known, the model's name of the language."""
        answer = f"language {language}{TEXT_TAG}" if language else ""
        before = f"<|im_start|>system\n{plain(context)}<|im_end|>\n<|im_start|>user\n<|audio_start|>"
        after = f"<|audio_end|><|im_end|>\n<|im_start|>assistant\n{answer}"
        return Prompt(_tensor(self._bpe.encode(before)), _tensor(self._bpe.encode(after)))

    def text_of(self, ids: Sequence[int]) -> str:
        """What the model wrote, without the marks that are no text."""
        return self._bpe.decode(ids, keep_specials=False)


def plain(context: str) -> str:
    """`context` without what would end its turn or begin the answer, however it is nested."""
    while (shorter := _MARKS.sub("", context)) != context:
        context = shorter
    return context


def _tensor(ids: Sequence[int]) -> torch.Tensor:
    return torch.tensor([ids], dtype=torch.int64)
