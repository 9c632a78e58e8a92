"""Text to ids: the checkpoint's own vocabulary, of which only single Chinese characters are used."""

from __future__ import annotations

import re
from pathlib import Path

from ...mizuoto_runtime.text.bpe import ByteBpe

_UNKNOWN = "<unk>"
_WORD_START = "\u2581"
_SPACES = re.compile(r"\s+")


class TextTokens:
    """Makes ids.

    The model was trained on single Chinese characters, so tokens of several are split; the mark of a word's start goes
    with them, and a character that is no token of its own is unknown.

    Args:
        bpe: The tokenizer of the checkpoint.

    Attributes:
        size: Ids that there are.

    Source: mask_multichar_chinese_tokens, voxcpm 2.0.3.
    """

    def __init__(self, bpe: ByteBpe) -> None:
        self._bpe = bpe
        self._ids = bpe.vocabulary()
        self.size = max(self._ids.values(), default=0) + 1
        self._unknown = bpe.token_id(_UNKNOWN)
        self._words = {token for token in self._ids if len(token) > 1 and all(map(_is_han, token))}
        controls = sorted(bpe.control_tokens(), key=len, reverse=True)
        self._controls = re.compile("|".join(map(re.escape, controls))) if controls else None

    @classmethod
    def from_folder(cls, folder: Path) -> TextTokens:
        """Of the tokenizer in a model's folder.

        Raises:
            ModelFileError: A file is missing or damaged.
        """
        return cls(ByteBpe.from_folder(folder))

    def __call__(self, text: str) -> list[int]:
        """Ids of `text`, nothing around them."""
        found: list[str] = []
        for token in self._bpe.tokens(text):
            bare = token.replace(_WORD_START, "")
            found += bare if bare in self._words else [token]
        return [self._ids.get(token, self._unknown) for token in found]

    def without_controls(self, text: str) -> str:
        """`text` without the spellings of control tokens, which the model would obey."""
        return self._controls.sub("", text) if self._controls else text


def one_line(text: str) -> str:
    """`text` with single spaces for all white space."""
    return _SPACES.sub(" ", text)


def _is_han(character: str) -> bool:
    return "\u4e00" <= character <= "\u9fff"
