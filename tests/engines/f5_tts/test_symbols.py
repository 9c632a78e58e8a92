"""Text to symbols, against the upstream with its segmenter and readings."""

import random

import pytest
import torch
from mizuoto.engines.f5_tts import symbols
from mizuoto.engines.f5_tts.symbols import Vocabulary, text_symbols
from mizuoto.mizuoto_runtime.errors import ModelFileError, Unsupported
from mizuoto.tests.engines.f5_tts import oracle

LATIN = [*"abcdefghCTMr019", *"+#&._%-" * 2, *" ,;:'\"!?()/@$*=<>[]{}|\\^`~\t\n\r", *"éñüßЖяこア안…，。“”½€"]
LATIN += ["AT&T", "C++", "c#", "it's", "3.5%", "off-key", "\r\n", "hello", "U.S."]
CHINESE = [
    *"你好世界我叫小明今年十八岁了银行行长一不是长大恤超〇",
    "重庆",
    "一不小心",
    "银行",
    "第一",
    "T恤",
    "，",
    "。",
    "𠀀",
]


@pytest.fixture
def without(monkeypatch):
    """A context without some packages."""

    def hide(*packages):
        find = symbols.find_spec
        monkeypatch.setattr(symbols, "find_spec", lambda name: None if name in packages else find(name))
        for cached in (symbols._reader, symbols._cutter):
            cached.cache_clear()

    yield hide
    monkeypatch.undo()
    for cached in (symbols._reader, symbols._cutter):
        cached.cache_clear()


def texts(words, count):
    rng = random.Random(len(words))
    return ["".join(rng.choices(words, k=rng.randint(0, 30))) for _ in range(count)]


def test_without_chinese_no_package_is_needed(without):
    expected = [oracle.convert_char_to_pinyin([text])[0] for text in texts(LATIN, 500)]
    without("pypinyin", "rjieba", "jieba")
    assert [text_symbols(text) for text in texts(LATIN, 500)] == expected


def test_chinese():
    for text in texts([*CHINESE * 3, *LATIN], 500):
        assert text_symbols(text) == oracle.convert_char_to_pinyin([text])[0], text


def test_chinese_with_the_other_segmenter(without):
    text = "我叫小明，今年十八岁。银行行长一不小心长大了 off-key 3.5%!"
    without("rjieba")
    assert text_symbols(text) == oracle.convert_char_to_pinyin([text])[0]


@pytest.mark.parametrize(("hidden", "named"), [(["pypinyin"], "pypinyin"), (["rjieba", "jieba"], "rjieba")])
def test_a_missing_package_is_named(without, hidden, named):
    without(*hidden)
    with pytest.raises(
        Unsupported, match=rf"and {named} is not installed: run `python -m pip install pypinyin rjieba`"
    ):
        text_symbols("你好")


def test_the_vocabulary_is_upstreams():
    text = [*"Hello, wörld!", "ni3", "nothing like it", " "]
    theirs, _ = oracle.get_tokenizer(str(oracle.VOCABULARY), "custom")
    ours = Vocabulary(oracle.VOCABULARY)
    assert len(ours) == len(theirs) == 2545
    assert torch.equal(ours.ids(text), oracle.list_str_to_idx([text], theirs))


@pytest.mark.parametrize(("content", "why"), [(b"a\xff\n", "no UTF-8"), (b"a\n" * 600_000, "longer than 1,048,576")])
def test_a_damaged_vocabulary_is_named(tmp_path, content, why):
    (tmp_path / "vocab.txt").write_bytes(content)
    with pytest.raises(ModelFileError, match=f"vocab.txt.*{why}"):
        Vocabulary(tmp_path / "vocab.txt")
