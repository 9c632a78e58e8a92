"""What decoding may do with a loaded model: the seam between the networks and the rules that read text out of them.

The engine implements these for a request; tests may implement them over a table of logits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

import torch

if TYPE_CHECKING:
    from .config import WhisperConfig

T = TypeVar("T")


class Tokens(Protocol):
    """Ids and text of one checkpoint; `tokens.WhisperTokens` is the real one.

    Attributes:
        sot, eot: Start of a transcript, end of text.
        transcribe, translate: The two tasks.
        sot_lm, sot_prev: Start of a language model's text, start of what was written before.
        no_speech: Its probability at the position of `sot` is that of silence.
        no_timestamps: Asks for text without times.
        timestamp_begin: The id of <|0.00|>; every later id is 0.02 s more, and is no text.
        languages: Whisper's code ("en", "jw") -> id of its token, in the official order; empty if English only.
        non_speech: Ids that stand for signs and sounds nobody says, and the specials that are never written, sorted;
            what upstream suppresses for "-1".
    """

    sot: int
    eot: int
    transcribe: int
    translate: int
    sot_lm: int
    sot_prev: int
    no_speech: int
    no_timestamps: int
    timestamp_begin: int
    languages: Mapping[str, int]
    non_speech: tuple[int, ...]

    def start(self, language: str, task: str) -> tuple[int, ...]:
        """The ids that a transcript starts with, `sot` first; language and task follow if there are several."""
        ...

    def encode(self, text: str) -> list[int]:
        """Ids of plain text; nothing is put around it and specials are not recognised."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; timestamps are left out, other specials are spelt, broken characters become U+FFFD."""
        ...

    def split_words(self, ids: Sequence[int], language: str) -> tuple[list[str], list[list[int]]]:
        """Words (with the space in front where one is) and the ids of each, for ids without timestamps."""
        ...


class DecoderState(Protocol):
    """One attempt at one window: the caches of its own past and of the encoded audio."""

    def logits(self, tokens: torch.Tensor) -> torch.Tensor:
        """Scores of what follows each of the new tokens, int64 [B, n] -> float32 [B, n, vocab], on the model's device.

        The tokens are appended to the past.
        """
        ...

    def reorder(self, rows: Sequence[int]) -> None:
        """Row b of the past becomes what row `rows[b]` was; for beam search."""
        ...


class WhisperModel(Protocol):
    """A loaded model within one request.

    Attributes:
        config: Sizes and token facts of the checkpoint.
        tokens: Its ids and text.
        generator: The only source of draws; on `device`.
        device: Where features and logits are.
    """

    config: WhisperConfig
    tokens: Tokens
    generator: torch.Generator
    device: torch.device

    def encode(self, mel: torch.Tensor) -> torch.Tensor:
        """Phase "audio encoder": one window, float32 [1, num_mels, 3000] on any device, as features [1, 1500, d]."""
        ...

    def decoding(self, work: Callable[[], T], rows: int = 1) -> T:
        """Phase "decoder": the result of `work`, in which alone `start` and `cross_attention` may be called.

        Runs in inference mode. When memory runs out, `work` is run again from its beginning with the same draws, so
        it must change nothing outside itself.

        Args:
            work: Decodes one window, with all of its attempts; or aligns it.
            rows: The most rows (beams) that it decodes at once.
        """
        ...

    def start(self, features: torch.Tensor, rows: int = 1) -> DecoderState:
        """An empty past of `rows` rows over one window's features [1, 1500, d]."""
        ...

    def cross_attention(self, features: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """What the alignment heads look at while a text is read, and the scores of what follows each token.

        Args:
            features: [1, 1500, d].
            tokens: int64 [n], the whole sequence.

        Returns:
            Weights before the softmax, float32 [heads, n, 1500], and logits, float32 [n, vocab].
        """
        ...

    def check_cancel(self) -> None:
        """Raises if the request was cancelled; to be called once a token."""
        ...

    def progress(self, seconds_heard: float) -> None:
        """Report how much of the audio is done."""
        ...
