import pytest
from mizuoto.mizuoto_runtime.text.english.tagger import Tagger, shape


@pytest.fixture(scope="module")
def tag(data):
    return Tagger(data.tagger)


def test_homographs_are_told_apart(tag):
    tags = tag(["I", "will", "record", "the", "record", "."])
    assert tags[2] == "VB" and tags[4] == "NN"
    assert tag(["They", "read", "it", "yesterday", "."])[1] in ("VBD", "VBP")


def test_numbers_and_money(tag):
    assert tag(["$", "5", "million"]) == ["$", "CD", "CD"]


def test_nothing_and_odd_words(tag):
    assert tag([]) == []
    assert len(tag(["\0", "\ud800", "中文", "😀" * 50])) == 4


@pytest.mark.parametrize(
    ("word", "kind"),
    [("12", "d"), ("word", "x"), ("Word", "Xx"), ("WORD", "XX"), ("A", "X1"), ("iPod", "xX"), ("a-1b2", "x-dx")],
)
def test_shape(word, kind):
    assert shape(word) == kind
