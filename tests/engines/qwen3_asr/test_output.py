"""What the model wrote, read as upstream reads it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mizuoto.engines.qwen3_asr.manifest import LANGUAGE_NAMES, MANIFEST
from mizuoto.engines.qwen3_asr.output import parsed, without_repetitions
from mizuoto.tests.engines.qwen3_asr import oracle, tiny

TAGS = {"": "", **{name: tag for tag, name in LANGUAGE_NAMES.items()}}
PARTS = st.tuples(st.text("ab \n水", max_size=4), st.integers(1, 25))
TEXTS = st.lists(PARTS, max_size=6).map(lambda parts: "".join(text * count for text, count in parts))


@given(TEXTS)
def test_repetitions(text):
    assert without_repetitions(text) == oracle.detect_and_fix_repetitions(text)


@pytest.mark.parametrize("count", [19, 20, 21, 40])
@pytest.mark.parametrize("phrase", ["a", "ab", "ha ", "twenty characters it", "twenty-one characters"])
@pytest.mark.parametrize("after", ["", ".", " and then something else, which is longer than that."])
def test_repetitions_at_the_limits(phrase, count, after):
    text = f"So {phrase * count}{after}"
    assert without_repetitions(text) == oracle.detect_and_fix_repetitions(text)


@pytest.mark.parametrize("language", [None, "de"])
@pytest.mark.parametrize(
    "written",
    [
        *("language English<asr_text>Hello.", "language ENGLISH<asr_text> Hello. ", "Hello.", "", " \n "),
        *("language Chinese\nsomething\n<asr_text>你好", "about it\nLanguage german <asr_text>Ja", "<asr_text>Hm"),
        *("language None<asr_text>", "language None<asr_text>Hm", "language <asr_text>x", "language<asr_text>x"),
        *("language English<asr_text>one<asr_text>two", "language English<asr_text>" + "ha" * 30, "a" * 50),
        "  language Cantonese<asr_text>喂喂喂",
    ],
)
def test_parsing(written, language):
    name, text = oracle.parse_asr_output(written, LANGUAGE_NAMES.get(language))
    assert parsed(written, language) == (TAGS[name], text)


def test_a_language_that_has_no_tag_is_unknown():
    assert parsed("language Klingon<asr_text>nuqneH", None) == ("", "nuqneH")


def test_every_language_of_upstream_has_a_tag():
    assert set(LANGUAGE_NAMES.values()) == set(oracle.utils.SUPPORTED_LANGUAGES) == set(tiny.LANGUAGES)
    assert len(MANIFEST.languages) == 30
