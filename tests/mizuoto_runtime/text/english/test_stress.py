import pytest
from mizuoto.mizuoto_runtime.text.english.stress import restress, weight


@pytest.mark.parametrize(
    ("level", "result"),
    [
        (None, "ˌʌndəɹstˈænd"),
        (-2, "ʌndəɹstænd"),
        (-1, "ʌndəɹstˌænd"),
        (-0.5, "ʌndəɹstˌænd"),
        (0, "ʌndəɹstˌænd"),
        (1, "ˌʌndəɹstˈænd"),
        (2, "ˌʌndəɹstˈænd"),
    ],
)
def test_a_word_with_both_marks(level, result):
    assert restress("ˌʌndəɹstˈænd", level) == result


@pytest.mark.parametrize(("level", "result"), [(-0.5, "ðə"), (0, "ðˌə"), (0.5, "ðˌə"), (1, "ðˌə"), (2, "ðˈə")])
def test_a_word_without_marks(level, result):
    assert restress("ðə", level) == result


def test_a_lone_secondary_is_raised():
    assert restress("hˌu", 1) == "hˈu"
    assert restress("hˌu", 0.5) == "hˌu"


def test_no_vowel_no_mark():
    assert restress("st", 2) == "st"


def test_weight_counts_diphthongs_double():
    assert weight("kAt") == 4
