import pytest
from mizuoto.mizuoto_runtime.text.english.dictionary import Dictionary
from mizuoto.mizuoto_runtime.text.english.lexicon import Lexicon, word_class
from mizuoto.mizuoto_runtime.text.english.pieces import Ahead, Piece

VOWEL, CONSONANT, PAUSE = Ahead(True), Ahead(False), Ahead(None)


@pytest.fixture(scope="module")
def read(data):
    lexicon = Lexicon(Dictionary(data.gold), Dictionary(data.silver))
    return lambda text, tag="NN", ahead=PAUSE, **more: lexicon(Piece(text, tag, **more), ahead)


@pytest.mark.parametrize(
    ("word", "tag", "ahead", "sound"),
    [
        ("the", "DT", VOWEL, "ði"),
        ("the", "DT", CONSONANT, "ðə"),
        ("to", "TO", VOWEL, "tʊ"),
        ("to", "TO", CONSONANT, "tə"),
        ("to", "TO", PAUSE, "tu"),
        ("a", "DT", CONSONANT, "ɐ"),
        ("A", "NN", PAUSE, "ˈA"),
        ("in", "IN", CONSONANT, "ɪn"),
        ("in", "RP", PAUSE, "ˈɪn"),
        ("am", "VBP", VOWEL, "ɐm"),
        ("AM", "NN", PAUSE, "ˌAˈɛm"),
        ("I", "PRP", CONSONANT, "ˌI"),
        ("used", "VBD", Ahead(False, to=True), "jˈust"),
        ("used", "VBD", CONSONANT, "jˈuzd"),
        ("vs.", "IN", CONSONANT, "vˈɜɹsəs"),
    ],
)
def test_words_that_heed_their_neighbours(read, word, tag, ahead, sound):
    assert read(word, tag, ahead) == sound


@pytest.mark.parametrize(
    ("word", "tag", "sound"),
    [
        ("record", "NN", "ɹˈɛkəɹd"),
        ("record", "VB", "ɹəkˈɔɹd"),
        ("read", "VBD", "ɹˈɛd"),
        ("read", "VB", "ɹˈid"),
        ("FBI", "NNP", "ˌɛfbˌiˈI"),
        ("U.S.", "NNP", "jˌuˈɛs"),
        ("BOOK", "NN", "bˈʊk"),
        ("‘tis", "NN", "tˈɪz"),
        ("&", "CC", "ænd"),
        ("ＡＢＣ", "NN", "ˌAbˌisˈi"),
        ("①", "CD", "wˈʌn"),
        ("٣", "CD", "θɹˈi"),
    ],
)
def test_words_by_part_of_speech_and_spelling(read, word, tag, sound):
    found = read(word, tag)
    assert found == sound


def test_endings_are_derived(read):
    assert read("Zorblaxes") is None
    assert read("gigabytes", "NNS") == read("gigabyte") + "s"


def test_money_is_said_after_the_amount(read):
    assert read("million", "CD", currency="$") == read("million", "CD") + " dˈɑləɹz"


def test_word_class():
    assert [word_class(t) for t in ("VBD", "NNP", "JJ", "RB", "DT", None)] == ["VERB", "NOUN", "ADJ", "ADV", "DT", None]


def test_a_dictionary_without_the_words_of_numbers_is_named(data):
    empty = Dictionary(
        {"words": data.gold["words"][:0], "starts": data.gold["starts"][:1], "readings": data.gold["readings"]}
    )
    with pytest.raises(LookupError, match='no "five"'):
        Lexicon(empty, empty).number("5")
