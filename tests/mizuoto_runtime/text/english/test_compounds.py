from mizuoto.mizuoto_runtime.text.english.compounds import run_starts, settle, sound
from mizuoto.mizuoto_runtime.text.english.pieces import Piece


def pieces(*pairs):
    return [Piece(text, phonemes=phonemes) for text, phonemes in pairs]


def test_one_word_keeps_one_main_stress():
    word = pieces(("e", "ˈi"), ("-", ""), ("mail", "mˈAl"))
    settle(word)
    assert sound(word) == "ˈimˌAl"


def test_the_lighter_parts_give_way():
    word = pieces(("break", "bɹˈAk"), ("up", "ˈʌp"), ("dance", "dˈæns"))
    settle(word)
    assert sound(word) == "bɹˈAkˌʌpdˈæns"


def test_letters_and_digits_are_read_apart():
    word = pieces(("COVID", "kˈOvˌɪd"), ("-", ""), ("19", "nˌIntˈin"))
    settle(word)
    assert sound(word) == "kˈOvˌɪd nˌIntˈin"


def test_taps_are_written_as_the_voices_know_them():
    assert sound(pieces(("waiting", "wˈAɾɪŋʔ"))) == "wˈATɪŋt"


def test_run_starts():
    word = pieces(("/", None), ("a", None), ("/", None), ("/", None))
    assert run_starts(word, 4) == [0, 1, 3]
    assert run_starts(word, 1) == [0]
    assert len(run_starts([Piece("a")] * 1000, 1000)) < 20
