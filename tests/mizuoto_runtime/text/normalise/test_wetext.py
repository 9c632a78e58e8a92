import sys
import types

import pytest
from mizuoto.mizuoto_runtime.errors import Unsupported
from mizuoto.mizuoto_runtime.text.normalise import normalise, wetext


class Normalizer:
    """Has the call, the stripping and the failures of wetext 0.1.8."""

    def __init__(self, lang, operator):
        self.name = f"{lang}-{operator}"

    def normalize(self, text):
        assert text and len(text) <= 200 and "\n" not in text
        if "\0" in text:
            raise AssertionError
        return text.strip().replace("5", f"<{self.name}>")


@pytest.fixture
def installed(monkeypatch):
    wetext._normalizer.cache_clear()
    monkeypatch.setitem(sys.modules, "wetext", types.SimpleNamespace(Normalizer=Normalizer))
    monkeypatch.setattr(wetext, "has_wetext", lambda: True)
    yield
    wetext._normalizer.cache_clear()


@pytest.mark.usefixtures("installed")
def test_white_space_and_tags_stay():
    text = " 5 a\n\n  b 5. \n[pause:5s] 5"
    assert normalise(text, "en", engine="wetext") == " <en-tn> a\n\n  b <en-tn>. \n[pause:5s] <en-tn>"
    assert normalise("买5个", "zh-CN", engine="wetext") == "买<zh-tn>个"
    assert normalise("5", "ja", engine="wetext") == "5"


@pytest.mark.usefixtures("installed")
def test_long_texts_are_cut_and_failures_are_left():
    assert normalise("Five is 5, yes. " * 100, "en", engine="wetext").count("<en-tn>") == 100
    assert normalise("a\0 5.", "en", engine="wetext") == "a\0 5."


def test_without_the_package_there_is_one_sentence(monkeypatch):
    monkeypatch.setattr(wetext, "has_wetext", lambda: False)
    with pytest.raises(Unsupported, match=r"'wetext' is not installed: run `pip install wetext`, or choose another"):
        normalise("5", "en", engine="wetext")
