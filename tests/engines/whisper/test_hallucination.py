import pytest
from mizuoto.engines.whisper.hallucination import (
    is_invented,
    seek_at_invented,
    seek_behind_silence,
    seek_behind_words,
)
from mizuoto.engines.whisper.segments import Segment, TimedWord, Window

WINDOW = Window(1000, 3000)  # 10 s to 40 s


def segment(start, probability=0.9, count=4, length=0.3):
    words = [TimedWord(f" w{n}", [n], start + n * length, start + (n + 1) * length, probability) for n in range(count)]
    return Segment(start, start + count * length, tuple(range(count)), "words", words)


@pytest.mark.parametrize(
    ("found", "invented"),
    [
        (None, False),
        (Segment(0, 1, (), ""), False),
        (segment(0), False),
        (segment(0, probability=0.1), True),  # nobody believes in any of them
        (segment(0, length=0.05), True),
        (segment(0, length=3.1), True),
        (segment(0, count=8, length=2.2), False),
    ],
)
def test_what_looks_invented(found, invented):
    assert is_invented(found) == invented


def test_signs_are_no_words():
    found = segment(0)
    found.words += [TimedWord(".", [9], 1.2, 1.2, 0.0) for _ in range(4)]
    assert not is_invented(found)


def test_the_next_window_begins_behind_the_words_where_silence_follows():
    assert seek_behind_words([segment(20)], WINDOW, 2.0) == 2120
    assert seek_behind_words([segment(37.5)], WINDOW, 2.0) == 4000
    assert seek_behind_words([], WINDOW, 2.0) is None
    assert seek_behind_words([segment(5)], WINDOW, 2.0) is None


def test_silence_before_invented_words_is_skipped():
    assert seek_behind_silence([segment(15, 0.1)], WINDOW, 2.0) == 1500
    assert seek_behind_silence([segment(15)], WINDOW, 2.0) is None
    assert seek_behind_silence([segment(11, 0.1)], WINDOW, 2.0) is None
    assert seek_behind_silence([], WINDOW, 2.0) is None


def test_what_is_invented_between_silences_is_left_out_with_all_behind_it():
    segments = [segment(12), segment(25, 0.1), segment(33)]
    assert seek_at_invented(segments, WINDOW, 2.0, 9.0, 100000) == 2500
    assert [found.start for found in segments] == [12]


def test_what_is_invented_amid_speech_stays():
    segments = [segment(12), segment(13.3, 0.1), segment(14.6)]
    assert seek_at_invented(segments, WINDOW, 2.0, 11.0, 100000) is None
    assert len(segments) == 3


def test_nothing_is_heard_behind_what_is_invented_at_the_end():
    segments = [segment(12), segment(25, 0.1)]
    assert seek_at_invented(segments, WINDOW, 2.0, 9.0, 2700) == 2700
