"""Text to symbols and their ids: Latin and other letters one by one, Chinese characters as their sounds.

Without Chinese nothing but this file is needed. With it the readings come from the package `pypinyin`, and words, on
which readings depend, from `rjieba` or `jieba`: the one is the publisher's, the other finds the same words but those
with Latin letters in them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import torch

from ...mizuoto_runtime.errors import ModelFileError, Unsupported
from ...mizuoto_runtime.loading.header import damaged, read_small

_MAX_VOCABULARY_BYTES = 1 << 20
_HAN = "\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HAS_HAN = re.compile(f"[{_HAN}]")
# A run of these is cut into words and runs of marks; the dictionary knows a few words with marks in them.
_RUN = re.compile(rf"[{_HAN}]+|[A-Za-z0-9+#&._%-]+|\r\n|.", re.S)
_DICTIONARY_WORD = re.compile(r"[cC]#|[cC]\+\+|AT&T")
_PIECE = re.compile(r"[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*%?|[+#&._%-]+|\r\n|.", re.S)
_PUNCTUATION = str.maketrans({";": ",", "“": '"', "”": '"', "‘": "'", "’": "'"})
_NO_SPACE_AFTER = " :'\""
_HAN_BYTES = 3


class Vocabulary:
    """The symbols that a model was trained with.

    Args:
        path: `vocab.txt`, a symbol a line; the first one is the space, which stands for unknown ones, too.

    Raises:
        ModelFileError: It is missing or damaged.
    """

    def __init__(self, path: Path) -> None:
        data = read_small(path, _MAX_VOCABULARY_BYTES)
        try:
            lines = data.decode("utf-8").replace("\r\n", "\n").split("\n")
        except UnicodeDecodeError as error:
            raise damaged(path, "it is no UTF-8 text") from error
        if lines[-1] == "":
            lines.pop()
        else:  # the upstream cuts the last letter off a last line without an end
            lines[-1] = lines[-1][:-1]
        self._ids = {symbol: number for number, symbol in enumerate(lines)}

    def __len__(self) -> int:
        return len(self._ids)

    def ids(self, symbols: list[str]) -> torch.Tensor:
        """[1, N] int64."""
        return torch.tensor([[self._ids.get(symbol, 0) for symbol in symbols]], dtype=torch.int64)


def text_symbols(text: str) -> list[str]:
    """The symbols of a text.

    Source: convert_char_to_pinyin, f5-tts 1.1.22.

    Raises:
        Unsupported: There is Chinese in it, and a package for it is missing.
    """
    text = text.translate(_PUNCTUATION)
    reads, cuts = (_reader(), _cutter()) if _HAS_HAN.search(text) else (list, _pieces)
    symbols: list[str] = []
    for piece in cuts(text):
        if piece.isascii():
            if len(piece) > 1 and symbols and symbols[-1] not in _NO_SPACE_AFTER:
                symbols.append(" ")
            symbols += piece
        else:
            symbols += _sounds(piece, reads)
    return symbols


def _sounds(piece: str, reads: Callable[[str], list[str]]) -> Iterator[str]:
    is_han_only = len(piece.encode()) == _HAN_BYTES * len(piece)
    # A whole word at once: readings depend on neighbours.
    sounds = reads(piece) if is_han_only else []
    for index, letter in enumerate(piece):
        if "\u3100" <= letter <= "\u9fff":
            yield " "
            yield from [sounds[index]] if len(sounds) == len(piece) else reads(letter)
        else:
            yield sounds[index] if len(sounds) == len(piece) else letter


def _pieces(text: str) -> list[str]:
    """The words and marks that rjieba 0.2.2 cuts a text without Chinese into; runs of Chinese stay whole."""
    pieces: list[str] = []
    for run in _RUN.findall(text):
        position = 0
        for word in _DICTIONARY_WORD.finditer(run):
            pieces += [*_PIECE.findall(run[position : word.start()]), word.group()]
            position = word.end()
        pieces += _PIECE.findall(run[position:]) if not _HAS_HAN.match(run) else [run]
    return pieces


@cache
def _reader() -> Callable[[str], list[str]]:
    if find_spec("pypinyin") is None:
        raise Unsupported(_missing("pypinyin"))
    from pypinyin import Style, lazy_pinyin

    return lambda piece: lazy_pinyin(piece, style=Style.TONE3, tone_sandhi=True)


@cache
def _cutter() -> Callable[[str], list[str]]:
    if find_spec("rjieba") is not None:
        from rjieba import cut

        return lambda text: list(cut(text))
    if find_spec("jieba") is not None:
        from jieba import lcut  # type: ignore[import-untyped]

        # It cuts words with marks in them apart.
        return lambda text: [
            word for piece in _pieces(text) for word in (lcut(piece) if _HAS_HAN.match(piece) else [piece])
        ]
    raise Unsupported(_missing("rjieba"))


def _missing(package: str) -> str:
    return (
        f"F5-TTS reads Chinese with the packages pypinyin and rjieba, and {package} is not installed: "
        "run `python -m pip install pypinyin rjieba`, or use text without Chinese characters."
    )


def check_vocabulary(vocabulary: Vocabulary, num_rows: int, folder: Path) -> None:
    """Check that a model has a row for every symbol, and one for the filler.

    Raises:
        ModelFileError: It has another number.
    """
    if len(vocabulary) + 1 != num_rows:
        raise ModelFileError(
            f'The vocab.txt of "{folder.name}" has {len(vocabulary)} symbols and its weights are for {num_rows - 1}; '
            "they belong to different models: use the folder as its publisher offers it."
        )
