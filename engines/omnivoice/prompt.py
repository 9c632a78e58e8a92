"""What the model reads: style, words, the codes of a reference, and masks where speech is to be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from ...mizuoto_runtime.errors import InvalidRequest
from ...mizuoto_runtime.text.bpe import ByteBpe
from .config import TalkerConfig
from .duration import FRAME_RATE_HZ
from .voice import Reference

NONVERBAL = (
    *("laughter", "sigh", "confirmation-en", "question-en", "question-ah", "question-oh", "question-ei"),
    *("question-yi", "surprise-ah", "surprise-oh", "surprise-wa", "surprise-yo", "dissatisfaction-hnn"),
)
"""Sounds that are no words, written in brackets."""

_TAG = re.compile(rf"\[(?:{'|'.join(NONVERBAL)})\]")
_BESIDE_HAN = re.compile("(?<=[\u4e00-\u9fff])\\s+|\\s+(?=[\u4e00-\u9fff])")


@dataclass(frozen=True, slots=True)
class Style:
    """How a text is said.

    Attributes:
        language: Tag; None leaves it to the model.
        attributes: Of the voice, as `attributes.resolved` gives them; "" is none.
        is_denoised: Whether the noise of a reference is left out.
    """

    language: str | None = None
    attributes: str = ""
    is_denoised: bool = True


@dataclass(frozen=True, slots=True)
class Prompt:
    """One text to be said in a fixed time.

    Attributes:
        text: Ids, [L] int64.
        reference: Codes of a voice, [K, R] int64; None for a voice of the model's own.
        frames: To be filled.
    """

    text: torch.Tensor
    reference: torch.Tensor | None
    frames: int

    @property
    def num_positions(self) -> int:
        """All that the model sees at once."""
        return len(self.text) + (0 if self.reference is None else self.reference.shape[1]) + self.frames


class PromptBuilder:
    """Makes prompts for one checkpoint.

    Source: OmniVoice._prepare_inference_inputs, omnivoice 0.2.1.
    """

    def __init__(self, config: TalkerConfig, bpe: ByteBpe) -> None:
        self._config = config
        self._bpe = bpe

    def __call__(self, text: str, reference: Reference | None, style: Style, frames: int) -> Prompt:
        """The prompt for `text`.

        Raises:
            InvalidRequest: It is longer than the model has positions for.
        """
        opening = "<|denoise|>" if style.is_denoised and reference else ""
        opening += f"<|lang_start|>{style.language or 'None'}<|lang_end|>"
        opening += f"<|instruct_start|>{style.attributes or 'None'}<|instruct_end|>"
        words = f"<|text_start|>{_joined(text, reference.words if reference else '')}<|text_end|>"
        ids = [number for piece in (opening, *_pieces(words)) for number in self._bpe.encode(piece)]
        prompt = Prompt(torch.tensor(ids), reference.codes if reference else None, frames)
        if prompt.num_positions > self._config.max_positions:
            raise InvalidRequest(
                f"The text, the reference and {frames / FRAME_RATE_HZ:.0f} s of speech take {prompt.num_positions} "
                f"positions of the model, and it has {self._config.max_positions}; shorten the text or the reference."
            )
        return prompt


def _joined(text: str, reference: str) -> str:
    """The words of a reference and a text as one, in one line."""
    found = f"{reference.strip()} {text.strip()}" if reference else text.strip()
    found = re.sub(r"[\r\n]+", "", found).replace("（", "(").replace("）", ")")
    return _BESIDE_HAN.sub("", re.sub(r"[ \t]+", " ", found))


def _pieces(text: str) -> Iterator[str]:
    """Cut at the tags of sounds, which are read alone: so their ids do not depend on their neighbours."""
    position = 0
    for tag in _TAG.finditer(text):
        if position < tag.start():
            yield text[position : tag.start()]
        yield tag[0]
        position = tag.end()
    if position < len(text):
        yield text[position:]
