import json
from pathlib import Path

import mizuoto
import pytest
from mizuoto.mizuoto_runtime.text.english.alphabet import CONSONANTS, MARKS, PAUSES, QUOTES, SOUNDS, VOWELS, is_latin


def test_the_alphabet_is_the_one_the_voices_know():
    vocab = Path(mizuoto.__path__[0]) / "engines/hibari/assets/vocab.json"
    known = set(json.loads(vocab.read_text("utf-8")))
    assert known == SOUNDS | MARKS | PAUSES | (QUOTES & known)


def test_vowels_and_consonants_are_sounds():
    assert VOWELS | CONSONANTS <= SOUNDS
    assert SOUNDS.isdisjoint(MARKS)


@pytest.mark.parametrize(
    ("c", "latin"),
    [*((c, True) for c in "aÉŁßªʃﬁʻˈ²_"), *((c, False) for c in "αΩПяԶა東µ")],
)
def test_latin_letters(c, latin):
    assert is_latin(c) is latin
