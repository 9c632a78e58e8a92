import sys
import types
from dataclasses import replace

import pytest
from mizuoto.engines.reading import AUTO, OFF, ON, READINGS, WETEXT, reader
from mizuoto.mizuoto_runtime.errors import InvalidRequest, Unsupported
from mizuoto.mizuoto_runtime.text.normalise import wetext
from mizuoto.tests.engines.dummy import MANIFEST

KNOWS_NUMBERS = replace(MANIFEST, reads_numbers=True)
TEXT = "“NASA SAYS HELLO” to 5 people"
IN_WORDS = '"Nasa says hello" to five people'


@pytest.fixture
def installed(monkeypatch):
    class Normalizer:
        def __init__(self, lang, operator):
            self.lang = lang

        def normalize(self, text):
            return text.replace("5", f"<{self.lang}>")

    wetext._normalizer.cache_clear()
    monkeypatch.setitem(sys.modules, "wetext", types.SimpleNamespace(Normalizer=Normalizer))
    monkeypatch.setattr(wetext, "has_wetext", lambda: True)
    yield
    wetext._normalizer.cache_clear()


@pytest.mark.parametrize(
    ("manifest", "reading", "wanted"),
    [
        (MANIFEST, AUTO, IN_WORDS),
        (KNOWS_NUMBERS, AUTO, '"NASA SAYS HELLO" to 5 people'),
        (KNOWS_NUMBERS, ON, IN_WORDS),
        (MANIFEST, OFF, TEXT),
    ],
)
def test_what_an_engine_gets(manifest, reading, wanted):  # P44: capitals are folded wherever numbers are put into words
    assert reader(manifest, reading)(TEXT, "") == wanted


@pytest.mark.usefixtures("installed")
def test_wetext_can_be_chosen():
    assert reader(KNOWS_NUMBERS, WETEXT)(TEXT, "") == '"Nasa says hello" to <en> people'
    assert reader(MANIFEST, WETEXT)("买5个", "") == "买<zh>个"


def test_wetext_is_missed_before_anything_is_read(monkeypatch):
    monkeypatch.setattr(wetext, "has_wetext", lambda: False)
    with pytest.raises(Unsupported, match="run `pip install wetext`"):
        reader(MANIFEST, WETEXT)


def test_an_unknown_choice_is_refused():
    assert READINGS == (AUTO, ON, WETEXT, OFF)
    with pytest.raises(InvalidRequest, match=r'normalise is "onn"; choose one of auto, on, wetext, off\. Did you mean'):
        reader(MANIFEST, "onn")


@pytest.mark.parametrize(
    ("language", "tag", "wanted"),
    [
        ("", "", "Am five. Mai"),
        ("Auto", "", "Am five. Mai"),
        ("auto", "", "Am five. Mai"),
        ("Sichuan Dialect", "", "Am five. Mai"),
        ("German", "", "Am 5. Mai"),
        ("de", "", "Am 5. Mai"),
        ("German", "en", "Am five. Mai"),
        ("English", "de", "Am 5. Mai"),
        ("Chinese", "", "Am five. Mai"),
    ],
)
def test_the_language_of_a_text(language, tag, wanted):
    assert reader(MANIFEST, ON, language)("Am 5. Mai", tag) == wanted
