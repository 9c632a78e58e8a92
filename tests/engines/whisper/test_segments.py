import types

import pytest
from mizuoto.engines.whisper.segments import Segment, TimedWord, Window, cut, end_of_words

EOT, BEGIN = 100, 200
TOKENS = types.SimpleNamespace(
    eot=EOT, timestamp_begin=BEGIN, decode=lambda ids: "".join(chr(token) for token in ids)
)  # fmt: skip


def ids_of(*parts):
    """Numbers are times in seconds, letters are text."""
    return [
        token for part in parts
        for token in ([BEGIN + round(part * 50)] if isinstance(part, (int, float)) else map(ord, part))
    ]  # fmt: skip


def seen(parts, seek=0, size=3000):
    found = cut(ids_of(*parts), Window(seek, size), TOKENS)
    return [(s.start, s.end, s.text) for s in found.segments], found.next_seek, found.is_complete


@pytest.mark.parametrize(
    ("parts", "segments", "next_seek", "is_complete"),
    [
        # Finished by a pair; what follows it is heard again.
        ((0, "A", 4, 4, "B", 9, 9, "C"), [(0, 4, "A"), (4, 9, "B")], 900, False),
        ((0, "A", 4, 5, "B"), [(0, 4, "A")], 500 - 100, False),
        ((0, "A", 4, 4), [(0, 4, "A")], 400, False),
        # One time at the end: nothing follows.
        ((0, "A", 4, 4, "B", 9), [(0, 4, "A"), (4, 9, "B")], 3000, True),
        ((0, "A", 4), [(0, 4, "A")], 3000, True),
        # No pair: one segment, to the last time or the end.
        ((0, "A"), [(0, 30, "A")], 3000, False),
        ((0.5, "A"), [(0, 0.5, "A")], 3000, False),
        (("A",), [(0, 30, "A")], 3000, False),
    ],
)
def test_times_cut_segments(parts, segments, next_seek, is_complete):
    assert seen(parts) == (segments, next_seek, is_complete)


def test_times_count_from_the_window():
    assert seen((0, "A", 4, 4), seek=1000) == ([(10, 14, "A")], 1400, False)
    assert seen((0, "A"), seek=1000, size=250) == ([(10, 12.5, "A")], 1250, False)


def test_the_end_of_words():
    word = TimedWord(" a", [1], 1.0, 2.0, 0.5)
    assert end_of_words([]) is None
    assert end_of_words([Segment(0, 3, (), "")]) == 3
    assert end_of_words([Segment(0, 3, (), "", [word]), Segment(3, 5, (), "")]) == 2.0
