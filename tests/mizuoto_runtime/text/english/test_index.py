import numpy as np
from mizuoto.mizuoto_runtime.text.english.index import WordIndex

INDEX = WordIndex(np.array([b"apple", b"pear", "père".encode()]))


def test_finds_positions_in_the_order_asked():
    assert INDEX.find(["pear", "fig", "apple"]) == [1, 0]
    assert "père" in INDEX and len(INDEX) == 3


def test_neither_longer_words_nor_padding_match():
    assert INDEX.find(["apples", "pear\0", "", "zzz", "\ud800"]) == []
    assert INDEX.find([]) == []
