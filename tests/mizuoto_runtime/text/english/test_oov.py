import pytest
from mizuoto.mizuoto_runtime.text.english.alphabet import VOWELS
from mizuoto.mizuoto_runtime.text.english.oov import OovReader


@pytest.fixture(scope="module")
def read(data):
    return OovReader(data.oov, data.alphabet)


def test_unknown_words_get_a_plausible_reading(read):
    assert read("Zorblax") == "zˈɔɹblæks"
    assert "ʃ" in read("shimble") and VOWELS & set(read("shimble"))


def test_the_same_word_reads_the_same(read):
    assert read("blonkish") == read("blonkish")


def test_long_words_are_read_to_the_end(read):
    word = "donaudampfschifffahrtsgesellschaftskapitän"
    assert read(word).endswith(read(word[21:]))


def test_characters_it_does_not_know(read):
    assert read("東京") == ""
    assert read("") == ""
    assert read.unknown("ab東京c") == "東京"
    assert read("zor東blax") == read("zorblax")


def test_other_scripts_have_no_reading(read):
    assert read("Привет") == read("Ελλάδα") == ""
    assert read.unknown("zorПα") == "Пα"


def test_weights_ask_for_no_gradient(read):
    assert not any(p.requires_grad for p in read._net.parameters())
