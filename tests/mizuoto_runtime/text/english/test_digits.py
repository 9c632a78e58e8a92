import pytest
from mizuoto.mizuoto_runtime.text.english.digits import is_grouped, is_number, number_words


@pytest.mark.parametrize("word", ["5", "1,000", "3.14", "1990s", "21st", "-5", ".75", "10ing"])
def test_numbers(word):
    assert is_number(word, first=True)


@pytest.mark.parametrize("word", ["", "five", "5a", "F16", "--5", "s"])
def test_no_numbers(word):
    assert not is_number(word, first=True)


def test_a_sign_opens_a_word():
    assert not is_number("-5", first=False)


@pytest.mark.parametrize(
    ("digits", "suffix", "currency", "first", "words"),
    [
        ("42", "", None, True, "forty two"),
        ("21", "st", None, True, "twenty first"),
        ("1999", "", None, True, "nineteen ninety nine"),
        ("1999", "", "$", True, "one thousand nine hundred ninety nine dollar*"),
        ("1,999", "", None, True, "one thousand nine hundred ninety nine"),
        ("3.10", "", None, True, "three point one zero"),
        ("3.50", "", "$", True, "three dollar* and fifty cent*"),
        ("1.00", "", "$", True, "one dollar"),
        ("0.01", "", "$", True, "one cent"),
        ("2.05", "", "£", True, "two pound* and five pence"),
        ("3.14.15", "", None, True, "three fourteen fifteen"),
        ("1.0.200", "", None, True, "one zero two hundred"),
        ("16", "", None, False, "sixteen"),
        ("747", "", None, False, "seven forty seven"),
        ("505", "", None, False, "five O five"),
        ("07", "", None, False, "zero seven"),
        ("8", "", None, False, "eight"),
        ("0042", "", None, True, "zero zero four two"),
        ("012345", "", None, True, "zero one two three four five"),
        ("05", "", "$", True, "five dollar*"),
        ("0", "", None, True, "zero"),
    ],
)
def test_number_words(digits, suffix, currency, first, words):
    assert number_words(digits, suffix, currency, first, False) == words.split()


def test_a_negative_number_is_no_year():
    assert number_words("1999", "", None, True, negative=True)[0] == "one"


def test_a_number_without_a_name_is_read_digit_by_digit():
    assert number_words("9" * 5000, "", None, True, False) == ["nine"] * 5000


@pytest.mark.parametrize(
    ("number", "grouped"),
    [("1,000", True), ("12,345,678", True), ("1,2", False), ("1,2345", False), ("1234,567", False), ("0,123", False)],
)
def test_commas_of_thousands(number, grouped):
    assert is_grouped(number) is grouped
