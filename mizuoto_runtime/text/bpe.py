"""Byte-level BPE as Qwen uses it: a folder's vocabulary to a tokenizer, text to ids and back.

The merging itself is the `tokenizers` library's; what is put together here is the pipeline around it and the order in
which the special tokens of a folder get their ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import InvalidRequest, ModelFileError
from ..loading.fields import read_json
from ..loading.header import damaged, require_file, unreadable

PIECES = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""What is never merged with what surrounds it: words, single digits, runs of signs and of spaces."""

_TOKENIZER, _CONFIG, _VOCAB, _MERGES = "tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt"
_FLAGS = ("lstrip", "rstrip", "single_word", "normalized", "special")


class ByteBpe:
    """A tokenizer; `from_folder` makes one.

    Args:
        tokenizer: Of the `tokenizers` library.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    @classmethod
    def from_folder(cls, folder: Path) -> ByteBpe:
        """The tokenizer of a model folder.

        Reads `tokenizer.json`, or without one `vocab.json` and `merges.txt`; the special tokens come from the
        `added_tokens_decoder` of `tokenizer_config.json`, which only the second layout must have.

        Raises:
            ModelFileError: A file is missing or damaged, or special tokens do not have the ids that they claim.

        Source: Qwen2TokenizerFast and Qwen2Converter, transformers 4.57.3.
        """
        whole = folder / _TOKENIZER
        tokenizer = _read_whole(whole) if whole.is_file() else _read_parts(folder / _VOCAB, folder / _MERGES)
        config = folder / _CONFIG
        if config.is_file() or not whole.is_file():
            _add_tokens(tokenizer, config)
        return cls(tokenizer)

    @property
    def vocab_size(self) -> int:
        """Tokens, the special ones included."""
        return self._tokenizer.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """Ids of `text`; special tokens in it become their ids, and nothing is put around it.

        Raises:
            InvalidRequest: The text holds half of a character.
        """
        return self._encoded(text).ids

    def tokens(self, text: str) -> list[str]:
        """The pieces of `text` as the vocabulary spells them; otherwise as `encode`."""
        return self._encoded(text).tokens

    def vocabulary(self) -> dict[str, int]:
        """Every token and its id."""
        return self._tokenizer.get_vocab()

    def control_tokens(self) -> list[str]:
        """Special tokens, which are found in a text before anything else."""
        return [token.content for token in self._tokenizer.get_added_tokens_decoder().values() if token.special]

    def decode(self, ids: Sequence[int], *, keep_specials: bool = True) -> str:
        """The text of `ids`; bytes that are no text become U+FFFD."""
        return self._tokenizer.decode(list(ids), skip_special_tokens=not keep_specials)

    def token_id(self, token: str) -> int:
        """Id of one token, such as `<|im_start|>`.

        Raises:
            ModelFileError: The vocabulary has no such token.
        """
        found = self._tokenizer.token_to_id(token)
        if found is None:
            raise ModelFileError(
                f'The tokenizer has no token "{token}": its files belong to another model; copy the whole folder again.'
            )
        return found

    def _encoded(self, text: str) -> Any:
        try:
            return self._tokenizer.encode(text, add_special_tokens=False)
        except (TypeError, UnicodeEncodeError) as error:
            raise InvalidRequest(f"The text cannot be encoded: {_broken(text)}; type that place again.") from error


def _library() -> Any:
    import tokenizers  # type: ignore[import-untyped]

    return tokenizers


def _read_whole(path: Path) -> Any:
    library = _library()
    text = _text(path)
    try:
        tokenizer = library.Tokenizer.from_str(text)
    except Exception as error:  # the library raises nothing narrower
        raise damaged(path, f"it cannot be understood ({error})") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _read_parts(vocab_path: Path, merges_path: Path) -> Any:
    library = _library()
    vocab = read_json(vocab_path)
    if not vocab or not all(isinstance(value, int) and value >= 0 for value in vocab.values()):
        raise damaged(vocab_path, "it is no table of tokens and ids")
    merges = _merges(merges_path)
    try:
        tokenizer = library.Tokenizer(library.models.BPE(vocab=vocab, merges=merges))
    except Exception as error:  # the library raises nothing narrower
        raise damaged(merges_path, f'it does not fit "{vocab_path.name}" ({error})') from error
    tokenizer.normalizer = library.normalizers.NFC()
    pieces = library.pre_tokenizers.Split(library.Regex(PIECES), behavior="isolated")
    to_bytes = library.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = library.pre_tokenizers.Sequence([pieces, to_bytes])
    tokenizer.decoder = library.decoders.ByteLevel()
    return tokenizer


def _merges(path: Path) -> list[tuple[str, str]]:
    """The pairs in a list of merges, best first."""
    pairs: dict[tuple[str, str], None] = {}
    # Only line feeds end a line here: tokens hold other characters that Python counts as line ends.
    for number, line in enumerate(_text(path).split("\n")):
        parts = line.split()
        if not parts or (number == 0 and line.startswith("#version:")):
            continue
        if len(parts) != 2:
            raise damaged(path, f"line {number + 1} is no pair of tokens")
        pairs[parts[0], parts[1]] = None
    if not pairs:
        raise damaged(path, "it is empty")
    return list(pairs)


def _add_tokens(tokenizer: Any, path: Path) -> None:
    """Add what a configuration lists, in the order of the ids, which must be those that the tokens get."""
    library = _library()
    for token_id, entry in _added(path):
        token = library.AddedToken(entry["content"], **{flag: bool(entry[flag]) for flag in _FLAGS if flag in entry})
        if entry.get("special"):
            tokenizer.add_special_tokens([token])
        else:
            tokenizer.add_tokens([token])
        found = tokenizer.token_to_id(entry["content"])
        if found != token_id:
            raise damaged(path, f'"{entry["content"]}" has the id {token_id} there and {found} in the vocabulary')


def _added(path: Path) -> list[tuple[int, Mapping[str, Any]]]:
    table = read_json(path).get("added_tokens_decoder", {})
    try:
        entries = sorted((int(token_id), entry) for token_id, entry in table.items())
        is_good = all(isinstance(entry["content"], str) and entry["content"] for _, entry in entries)
    except (AttributeError, KeyError, TypeError, ValueError):
        is_good = False
    if not is_good:
        raise damaged(path, 'its "added_tokens_decoder" is no table of ids and tokens')
    return entries


def _text(path: Path) -> str:
    require_file(path)
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise unreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise damaged(path, f"it is no UTF-8 text ({error})") from error


def _broken(text: str) -> str:
    """Where `text` is broken, for a message."""
    where = next((index for index, character in enumerate(text) if "\ud800" <= character <= "\udfff"), 0)
    return f"character {where + 1} is half of one"
