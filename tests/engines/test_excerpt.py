"""The words of a part of a recording."""

import pytest
from mizuoto.engines.excerpt import excerpt
from mizuoto.engines.transcript import Passage, Transcript, Word


def passage(text, start, end, has_words=True):
    parts = text.split()
    step = (end - start) / len(parts)
    words = [Word(part, start + index * step, start + (index + 1) * step, 1.0) for index, part in enumerate(parts)]
    return Passage(text, start, end, tuple(words) if has_words else ())


def transcript(*passages, language="en"):
    return Transcript("ear", language, 100.0, passages)


def test_words_are_taken_by_their_middle():
    given = transcript(passage("one two three", 0.0, 3.0), passage("four five", 3.0, 5.0))
    assert excerpt(given, 0.9, 4.1) == "two three four"
    assert excerpt(given, 0.4, 4.6) == "one two three four five"
    assert excerpt(given, 5.0, 9.0) == ""
    assert excerpt(transcript(), 0.0, 1.0) == ""


def test_passages_without_words_are_taken_whole_or_not_at_all():
    given = transcript(passage("one two", 0.0, 2.0, has_words=False), passage("three", 2.0, 3.0, has_words=False))
    assert excerpt(given, 2.0, 9.0) == "three"
    assert excerpt(given, 0.0, 9.0) == "one two three"
    assert excerpt(given, 1.0, 9.0) is None


@pytest.mark.parametrize(("language", "expected"), [("zh", "你好世界"), ("fr", "你 好 世 界")])
def test_spaces_where_the_language_has_them(language, expected):
    given = transcript(passage("你 好", 0.0, 2.0), passage("世 界", 2.0, 4.0), language=language)
    assert excerpt(given, 0.0, 4.0) == expected
