"""Ids and text: the tokenizer of a folder with the special tokens that decoding works with."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ...mizuoto_runtime.errors import ModelFileError
from ...mizuoto_runtime.text.bpe import ByteBpe
from .languages import CODES
from .settings import TRANSCRIBE, TRANSLATE

UNSPACED = frozenset({"zh", "ja", "th", "lo", "my", "yue"})
"""Codes of languages whose words are not told apart; their characters are."""

_REPLACEMENT = "\ufffd"
_NO_SPEECH = ("<|nospeech|>", "<|nocaptions|>")  # the latter in older folders
_SIGNS = (
    *'"#()*+/:;<=>@[\\]^_`{|}~\u300c\u300d\u300e\u300f',
    *("<<", ">>", "<<<", ">>>", "--", "---", "-(", "-[", "('", '("', "((", "))", "(((", ")))", "[[", "]]", "{{", "}}"),
    *("\u266a\u266a", "\u266a\u266a\u266a"),
)
_MUSIC = "\u2669\u266a\u266b\u266c\u266d\u266e\u266f"  # may take several tokens, of which the first says enough
_ONLY_INSIDE_WORDS = (" -", " '")


class WhisperTokens:
    """The tokens of one checkpoint; implements `model.Tokens`.

    Args:
        bpe: The folder's tokenizer.
        is_multilingual: Whether languages and tasks are tokens of the model; English-only ones list them, too.

    Raises:
        ModelFileError: The vocabulary lacks a special token.

    Source: Tokenizer, openai-whisper 20250625 tokenizer.py.
    """

    def __init__(self, bpe: ByteBpe, is_multilingual: bool) -> None:
        self._bpe = bpe
        self.sot = bpe.token_id("<|startoftranscript|>")
        self.eot = bpe.token_id("<|endoftext|>")
        self.transcribe = bpe.token_id("<|transcribe|>")
        self.translate = bpe.token_id("<|translate|>")
        self.sot_lm = bpe.token_id("<|startoflm|>")
        self.sot_prev = bpe.token_id("<|startofprev|>")
        self.no_timestamps = bpe.token_id("<|notimestamps|>")
        # Not by name: the times are not in every folder's vocabulary.
        self.timestamp_begin = self.no_timestamps + 1
        self.no_speech = _first_id(bpe, _NO_SPEECH)
        self.languages: Mapping[str, int] = _languages(bpe) if is_multilingual else {}
        specials = (self.transcribe, self.translate, self.sot, self.sot_prev, self.sot_lm, self.no_speech)
        self.non_speech = tuple(sorted({*self._signs(), *specials}))

    @classmethod
    def from_folder(cls, folder: Path, is_multilingual: bool) -> WhisperTokens:
        """The tokens of the model in `folder`.

        Raises:
            ModelFileError: A file is missing or damaged, or the vocabulary is of another model.
        """
        return cls(ByteBpe.from_folder(folder), is_multilingual)

    def start(self, language: str, task: str) -> tuple[int, ...]:
        """See `model.Tokens`."""
        if not self.languages:
            return (self.sot,)
        return (self.sot, self.languages[language], {TRANSCRIBE: self.transcribe, TRANSLATE: self.translate}[task])

    def encode(self, text: str) -> list[int]:
        """See `model.Tokens`.

        Raises:
            InvalidRequest: The text holds half of a character.
        """
        # Cut where a special token would begin, so that none is recognised.
        return [token for part in re.split(r"(?<=<)(?=\|)", text) for token in self._bpe.encode(part)]

    def decode(self, ids: Sequence[int]) -> str:
        """See `model.Tokens`."""
        return self._bpe.decode([token for token in ids if token < self.timestamp_begin])

    def split_words(self, ids: Sequence[int], language: str) -> tuple[list[str], list[list[int]]]:
        """See `model.Tokens`."""
        characters = self._split_characters(ids)
        words = characters if language in UNSPACED else self._joined(characters)
        return [text for text, _ in words], [tokens for _, tokens in words]

    def _split_characters(self, ids: Sequence[int]) -> list[tuple[str, list[int]]]:
        """The shortest runs of ids that are whole characters."""
        whole, offset = self.decode(ids), 0
        parts: list[tuple[str, list[int]]] = []
        tokens: list[int] = []
        for token in ids:
            tokens.append(token)
            text = self.decode(tokens)
            broken = offset + text.find(_REPLACEMENT)
            if _REPLACEMENT in text and whole[broken : broken + 1] != _REPLACEMENT:
                continue
            parts.append((text, tokens))
            offset += len(text)
            tokens = []
        return parts

    def _joined(self, parts: Iterable[tuple[str, list[int]]]) -> list[tuple[str, list[int]]]:
        """Parts joined to words: a space, a sign or a special token begins a new one."""
        words: list[tuple[str, list[int]]] = []
        for text, tokens in parts:
            is_start = tokens[0] >= self.eot or text.startswith(" ") or text.strip() in string.punctuation
            if is_start or not words:
                words.append((text, list(tokens)))
            else:
                before, before_tokens = words[-1]
                words[-1] = (before + text, before_tokens + tokens)
        return words

    def _signs(self) -> Iterable[int]:
        for text in _ONLY_INSIDE_WORDS:
            yield self._bpe.encode(text)[0]
        for sign in (*_SIGNS, *_MUSIC):
            for text in (sign, f" {sign}"):
                tokens = self._bpe.encode(text)
                if len(tokens) == 1 or sign in _MUSIC:
                    yield tokens[0]


def _first_id(bpe: ByteBpe, names: Sequence[str]) -> int:
    for name in names[:-1]:
        try:
            return bpe.token_id(name)
        except ModelFileError:
            continue
    return bpe.token_id(names[-1])


def _languages(bpe: ByteBpe) -> dict[str, int]:
    found: dict[str, int] = {}
    for code in CODES:
        try:
            found[code] = bpe.token_id(f"<|{code}|>")
        except ModelFileError:
            continue
    return found
