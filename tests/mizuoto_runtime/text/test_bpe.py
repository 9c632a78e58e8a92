"""The tokenizer against transformers' Qwen2TokenizerFast and tiktoken, on a tiny vocabulary and on Qwen's own."""

from __future__ import annotations

import base64
import importlib.util
import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("tokenizers")

from mizuoto.mizuoto_runtime.errors import InvalidRequest, ModelFileError
from mizuoto.mizuoto_runtime.text.bpe import PIECES, ByteBpe

SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
PLAIN = ["<tool>", "<tts_pad>"]  # added, but not special
TEXTS = [
    "", " ", "Hello world", "you'll they'RE I'M", "a1b22 3.14159", "  two  spaces ", "tab\tnewline\n\n  x\r\n", "\n \n",
    "你好，世界！今天天气怎么样？", "こんにちは、カタカナ。", "안녕하세요", "Привет, мир", "Ελληνικά",
    "مرحبا بالعالم", "नमस्ते दुनिया", "שלום", "ไทย",
    "naïve café", "nai\u0308ve cafe\u0301", "ﬁ ½ ②", "😀👩\u200d👩\u200d👧🇯🇵",
    "\u200b\ufeff\u00a0\u3000x\u2028y\u0085z", "\x00\x01\x7f", "$12.50--(ok)!?\n",
    "<|im_start|>assistant\nHi<|im_end|>\n", "a<|im_start|>b", "<|im_start|><|im_start|>", "<|im_start |>",
    "<tool>x <tool>", "cafe\u0301<|im_end|>\u0301",
]  # fmt: skip


def byte_alphabet() -> dict[int, str]:
    """The character that stands for each byte."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {byte: chr(byte) for byte in shown} | {byte: chr(256 + n) for n, byte in enumerate(hidden)}


ALPHABET = byte_alphabet()


def split_of(token: bytes, ranks: dict[bytes, int]) -> list[bytes]:
    """The two parts that merge into `token`: what its bytes become by merges of a lower rank."""
    parts = [token[n : n + 1] for n in range(len(token))]
    while len(parts) > 2:
        pairs = [ranks.get(left + right, ranks[token]) for left, right in itertools.pairwise(parts)]
        best = min(range(len(pairs)), key=pairs.__getitem__)
        parts[best : best + 2] = [parts[best] + parts[best + 1]]
    return parts


def write_folder(folder: Path, ranks: dict[bytes, int]) -> Path:
    """A folder as Qwen publishes it."""
    spelled = {token: "".join(ALPHABET[byte] for byte in token) for token in ranks}
    lines = ["#version: 0.2"]
    for token in sorted(ranks, key=ranks.__getitem__):
        if len(token) > 1:
            left, right = split_of(token, ranks)
            lines.append(f"{spelled[left]} {spelled[right]}")
    vocab = {spelled[token]: rank for token, rank in ranks.items()}
    (folder / "vocab.json").write_text(json.dumps(vocab, ensure_ascii=False), encoding="utf-8")
    (folder / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    flags = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False}
    added = [{"content": token, **flags, "special": token in SPECIALS} for token in SPECIALS + PLAIN]
    config = {
        "added_tokens_decoder": {str(len(ranks) + n): entry for n, entry in enumerate(added)},
        "tokenizer_class": "Qwen2Tokenizer", "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>",
        "unk_token": None, "bos_token": None, "errors": "replace",
    }  # fmt: skip
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """All bytes and a few merges, among them such as hold spaces and half characters."""
    words = [b"th", b"the", b" t", b" the", b"ll", b"\xe4\xbd", b"\xe4\xbd\xa0", b"\n\n", b"  ", b"an", b"caf", b"ca"]
    ranks = {bytes([byte]): byte for byte in range(256)}
    for token in sorted(words, key=len):
        ranks[token] = len(ranks)
    return write_folder(tmp_path_factory.mktemp("tiny"), ranks)


@pytest.fixture(scope="module")
def qwen_ranks():
    """The ranks of Qwen's 151,643 tokens; the package around them is not imported."""
    spec = importlib.util.find_spec("dashscope")
    if spec is None:
        pytest.skip("dashscope is not installed")
    path = Path(spec.submodule_search_locations[0]) / "resources" / "qwen.tiktoken"
    lines = path.read_bytes().splitlines()
    return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines if line)}


@pytest.fixture(scope="module")
def qwen(tmp_path_factory, qwen_ranks):
    return write_folder(tmp_path_factory.mktemp("qwen"), qwen_ranks)


@pytest.mark.parametrize("name", ["tiny", "qwen"])
def test_ids_and_text_equal_transformers(name, request):
    transformers, folder = pytest.importorskip("transformers"), request.getfixturevalue(name)
    theirs, ours = transformers.Qwen2TokenizerFast.from_pretrained(folder), ByteBpe.from_folder(folder)
    assert ours.vocab_size == len(theirs)
    for text in TEXTS:
        ids = ours.encode(text)
        assert ids == theirs(text).input_ids, text
        assert ours.decode(ids) == theirs.decode(ids), text
        assert ours.decode(ids, keep_specials=False) == theirs.decode(ids, skip_special_tokens=True), text
    for token in SPECIALS + PLAIN:
        assert ours.token_id(token) == theirs.convert_tokens_to_ids(token)


def test_random_text_equals_transformers(tiny):
    theirs = pytest.importorskip("transformers").Qwen2TokenizerFast.from_pretrained(tiny)
    ours = ByteBpe.from_folder(tiny)

    @settings(max_examples=200, deadline=None, derandomize=True)
    @given(st.lists(st.one_of(st.text(max_size=20), st.sampled_from(SPECIALS + PLAIN))).map("".join))
    def check(text):
        assert ours.encode(text) == theirs(text).input_ids

    check()


def test_ids_equal_tiktoken(qwen, qwen_ranks):
    tiktoken = pytest.importorskip("tiktoken")
    specials = {token: len(qwen_ranks) + n for n, token in enumerate(SPECIALS + PLAIN)}
    theirs = tiktoken.Encoding("qwen", pat_str=PIECES, mergeable_ranks=qwen_ranks, special_tokens=specials)
    ours = ByteBpe.from_folder(qwen)
    composed = [text for text in TEXTS if "\u0301" not in text and "\u0308" not in text]  # it does not normalise
    for text in composed:
        assert ours.encode(text) == theirs.encode(text, allowed_special="all"), text


def test_tokenizer_file_alone_says_the_same(tiny, tmp_path):
    transformers = pytest.importorskip("transformers")
    theirs = transformers.Qwen2TokenizerFast.from_pretrained(tiny)
    theirs.backend_tokenizer.enable_truncation(2)
    theirs.backend_tokenizer.enable_padding(length=99)
    theirs.backend_tokenizer.save(str(tmp_path / "tokenizer.json"))
    alone, parts = ByteBpe.from_folder(tmp_path), ByteBpe.from_folder(tiny)
    assert [alone.encode(text) for text in TEXTS] == [parts.encode(text) for text in TEXTS]
    assert alone.token_id("<tool>") == parts.token_id("<tool>")


def test_text_comes_back(tiny):
    ours = ByteBpe.from_folder(tiny)
    for text in ("Hello 世界 😀\n", "<|im_start|>x<|im_end|>"):
        assert ours.decode(ours.encode(text)) == text
    assert ours.decode([0xE4]) == "\ufffd"


def test_half_a_character_is_refused(tiny):
    with pytest.raises(InvalidRequest, match="character 3 is half"):
        ByteBpe.from_folder(tiny).encode("ab\ud83d")


def test_tokens_are_the_spellings_of_ids(tiny):
    bpe = ByteBpe.from_folder(tiny)
    text = "Hello world<|im_end|><tool>"
    ids = bpe.vocabulary()
    assert [ids[token] for token in bpe.tokens(text)] == bpe.encode(text)
    assert len(ids) == bpe.vocab_size
    assert bpe.control_tokens() == SPECIALS
    with pytest.raises(InvalidRequest, match="character 2 is half of one"):
        bpe.tokens("a\ud800")


def test_unknown_token_is_named(tiny):
    with pytest.raises(ModelFileError, match="<tts_bos>"):
        ByteBpe.from_folder(tiny).token_id("<tts_bos>")


@pytest.fixture
def copied(tiny, tmp_path):
    for path in tiny.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


@pytest.mark.parametrize("name", ["vocab.json", "merges.txt", "tokenizer_config.json"])
def test_missing_file_is_named(copied, name):
    (copied / name).unlink()
    with pytest.raises(ModelFileError, match=f'"{name}" is missing'):
        ByteBpe.from_folder(copied)


DAMAGES = {
    "cut off vocabulary": ("vocab.json", b'{"a": 1, "b'),
    "vocabulary of words": ("vocab.json", b'{"a": "b"}'),
    "list": ("vocab.json", b"[1, 2]"),
    "no text": ("vocab.json", b"\xff\xfe\x00"),
    "no pair": ("merges.txt", b"#version: 0.2\nt h e\n"),
    "no merges": ("merges.txt", b"#version: 0.2\n"),
    "merges of another vocabulary": ("merges.txt", b"q z\n"),
    "cut off configuration": ("tokenizer_config.json", b'{"added'),
    "added list": ("tokenizer_config.json", b'{"added_tokens_decoder": [1]}'),
    "added without content": ("tokenizer_config.json", b'{"added_tokens_decoder": {"268": {}}}'),
    "added with a word for an id": ("tokenizer_config.json", b'{"added_tokens_decoder": {"x": {"content": "<a>"}}}'),
    "wrong id": ("tokenizer_config.json", b'{"added_tokens_decoder": {"999": {"content": "<a>"}}}'),
    "whole file": ("tokenizer.json", b'{"model": 3}'),
}


@pytest.mark.parametrize(("name", "content"), DAMAGES.values(), ids=DAMAGES.keys())
def test_damaged_file_is_named_in_one_sentence(copied, name, content):
    (copied / name).write_bytes(content)
    with pytest.raises(ModelFileError, match=f'{name}" is damaged: .*Copy or download it again') as raised:
        ByteBpe.from_folder(copied)
    assert "\n" not in str(raised.value)
