import pytest
from mizuoto.engines.transcript import Passage, Word
from mizuoto.engines.voiced import MARGIN_S, place
from mizuoto.mizuoto_runtime.vad import Span


def times(passages):
    return [(passage.text, round(passage.start, 2), round(passage.end, 2)) for passage in passages]


def test_a_passage_that_drifted_into_silence_is_put_where_its_voice_is():
    passages = (Passage("one", 30.0, 34.0), Passage("two", 35.0, 42.0))
    kept, invented = place(passages, [Span(30.5, 33.9), Span(57.8, 63.4)], 70.0)
    assert times(kept) == [("one", 30.3, 34.0), ("two", 57.8, 63.4)]
    assert invented == ()


def test_only_a_voice_between_its_neighbours_can_be_meant():
    passages = (Passage("one", 0.0, 2.0), Passage("odd", 10.0, 12.0), Passage("two", 20.0, 22.0))
    kept, invented = place(passages, [Span(0.0, 2.0), Span(20.0, 22.0), Span(30.0, 31.0)], 40.0)
    assert [passage.text for passage in kept] == ["one", "two"]
    assert [passage.text for passage in invented] == ["odd"]


def test_a_voice_is_given_once():
    passages = (Passage("one", 10.0, 12.0), Passage("two", 13.0, 14.0))
    kept, invented = place(passages, [Span(30.0, 31.0)], 40.0)
    assert [passage.text for passage in kept + invented] == ["two", "one"]


def test_no_passage_reaches_over_silence_or_beyond_the_recording():
    passages = (Passage("He was not.", 0.0, 24.0), Passage("No.", 24.0, 42.4))
    kept, _ = place(passages, [Span(0.4, 3.0), Span(30.0, 38.0)], 38.03)
    assert times(kept) == [("He was not.", 0.4 - MARGIN_S, 3.0 + MARGIN_S), ("No.", 30.0 - MARGIN_S, 38.03)]


def test_times_of_words_are_believed_up_to_the_end():
    words = (Word("No.", 0.2, 1.0, 0.9),)
    kept, _ = place((Passage("No.", 0.2, 1.0, words),), [Span(0.0, 0.8)], 0.85)
    assert times(kept) == [("No.", 0.2, 0.85)]
    assert kept[0].words[0].end == 0.85


@pytest.mark.parametrize("spans", [[], [Span(20.0, 21.0)]])
def test_without_a_voice_nearby_it_is_invented_unless_one_is_free(spans):
    kept, invented = place((Passage("", 0.0, 1.0), Passage("Thanks for watching!", 5.0, 6.0)), spans, 30.0)
    assert (len(kept), len(invented)) == ((1, 0) if spans else (0, 1))
