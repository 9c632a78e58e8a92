import pytest
from mizuoto.engines.transcript import Passage, Transcript, Word
from mizuoto.mizuoto_runtime.errors import InvalidRequest

WORDS = (Word("Grüß", 0.5, 0.9, 0.75), Word("Gott.", 0.9, 1.25, 1.0))
TRANSCRIPT = Transcript("whisper", "de", 3.5, (Passage("Grüß Gott.", 0.5, 1.25, WORDS), Passage("Ja.", 2.0, 2.5)))


def test_text_joins_the_passages():
    assert TRANSCRIPT.text == "Grüß Gott. Ja."
    assert Transcript("whisper", "de", 3.5).text == ""


@pytest.mark.parametrize("language", ["zh", "yue", "ja", "th"])
def test_languages_without_spaces_are_joined_without(language):
    passages = (Passage("你好。", 0.0, 1.0), Passage("再见。", 1.0, 2.0))
    assert Transcript("whisper", language, 2.0, passages).text == "你好。再见。"


def test_json_comes_back_as_it_was():
    assert Transcript.from_json(TRANSCRIPT.to_json()) == TRANSCRIPT
    assert "Grüß" in TRANSCRIPT.to_json()


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", '{"passages": [1]}', "[" * 100_000, '{"passages": 3}'])
def test_other_json_is_refused_in_one_sentence(text):
    with pytest.raises(InvalidRequest, match="no transcript in JSON"):
        Transcript.from_json(text)


def test_spaces_follow_the_script_and_not_the_tag():
    passages = tuple(
        Passage(text, at, at + 1.0) for at, text in enumerate(("Hello world.", "How are you?", "好。", "ดี", "Ja."))
    )
    assert Transcript("whisper", "zh", 5.0, passages).text == "Hello world. How are you?好。ดีJa."
