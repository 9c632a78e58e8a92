"""The words of a part of a recording."""

import pytest
from mizuoto.engines.excerpt import excerpt
from mizuoto.engines.transcript import Passage, Transcript, Word
from mizuoto.mizuoto_runtime.vad import Span


def passage(text, start, end, has_words=True):
    parts = text.split()
    step = (end - start) / len(parts)
    words = [Word(part, start + index * step, start + (index + 1) * step, 1.0) for index, part in enumerate(parts)]
    return Passage(text, start, end, tuple(words) if has_words else ())


def transcript(*passages, language="en"):
    return Transcript("ear", language, 100.0, passages)


def test_words_are_taken_by_their_middle():
    given = transcript(passage("one two three", 0.0, 3.0), passage("four five", 3.0, 5.0))
    assert excerpt(given, Span(0.9, 4.1)) == "two three four"
    assert excerpt(given, Span(0.4, 4.6)) == "one two three four five"
    assert excerpt(given, Span(5.0, 9.0)) == ""
    assert excerpt(transcript(), Span(0.0, 1.0)) == ""


def test_passages_without_words_are_taken_whole_or_not_at_all():
    given = transcript(passage("one two", 0.0, 2.0, has_words=False), passage("three", 2.0, 3.0, has_words=False))
    assert excerpt(given, Span(2.0, 9.0)) == "three"
    assert excerpt(given, Span(0.0, 9.0)) == "one two three"
    assert excerpt(given, Span(1.0, 9.0)) is None


def words(*texts):
    return tuple(Word(text, float(at), at + 1.0, 1.0) for at, text in enumerate(texts))


@pytest.mark.parametrize(
    ("text", "parts", "expected"),
    [
        ("A well-known e-mail.", ("A", "well", "-known", "e", "-mail."), "well-known e-mail."),
        ("It costs $3.50 or 5%.", ("It", "costs", "$3", ".50", "or", "5", "%."), "costs $3.50 or 5%."),
        ("At 3:30 O'Neil left.", ("At", "3", ":30", "O", "'Neil", "left."), "3:30 O'Neil left."),
        ("你好，世界。", ("你", "好，", "世", "界。"), "好，世界。"),
        ("spelled otherwise", ("spelt", "other", "wise"), "other wise"),
    ],
)
def test_words_are_written_as_in_the_passage(text, parts, expected):
    given = transcript(Passage(text, 0.0, float(len(parts)), words(*parts)))
    assert excerpt(given, Span(1.0, 99.0)) == expected


def test_passages_are_joined_as_their_scripts_are_written():
    given = transcript(
        passage("Hello.", 0.0, 1.0), passage("你好。", 1.0, 2.0), passage("世界。", 2.0, 3.0), passage("Bye.", 3.0, 4.0)
    )
    assert excerpt(given, Span(0.0, 4.0)) == "Hello.你好。世界。Bye."


def test_the_silence_behind_a_word_does_not_count():
    words = (
        Word("do", 7.0, 7.4, 1.0),
        Word("for", 7.4, 7.6, 1.0),
        Word("them.", 8.8, 9.62, 1.0),
        Word("Had", 9.62, 10.4, 1.0),
    )
    given = transcript(Passage("do for them. Had", 7.0, 10.4, words))
    voices = [Span(7.0, 9.0), Span(10.1, 12.0)]
    assert excerpt(given, Span(2.0, 9.076), voices) == "do for them."
    assert excerpt(given, Span(9.8, 12.0), voices) == "Had"


def test_a_passage_without_words_is_cut_where_its_voices_end():
    given = transcript(passage("one", 0.0, 9.5, has_words=False), passage("two", 9.5, 14.0, has_words=False))
    voices = [Span(2.0, 9.0), Span(10.1, 13.0)]
    assert excerpt(given, Span(1.9, 9.2), voices) == "one"
    assert excerpt(given, Span(9.9, 13.2), voices) == "two"
    assert excerpt(given, Span(1.9, 12.0), voices) is None
