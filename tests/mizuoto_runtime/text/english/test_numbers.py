import pytest
from hypothesis import given
from hypothesis import strategies as st
from mizuoto.mizuoto_runtime.text.english.numbers import MAX_DIGITS, cardinal, decimal, digit_names, ordinal, year


@pytest.mark.parametrize(
    ("n", "words"),
    [
        (0, "zero"),
        (13, "thirteen"),
        (40, "forty"),
        (99, "ninety-nine"),
        (100, "one hundred"),
        (215, "two hundred fifteen"),
        (1000, "one thousand"),
        (1_000_001, "one million one"),
        (12_345_678, "twelve million three hundred forty-five thousand six hundred seventy-eight"),
        (10**33, "one decillion"),
    ],
)
def test_cardinal(n, words):
    assert cardinal(n) == words


@pytest.mark.parametrize("n", [-1, 10**MAX_DIGITS])
def test_cardinal_refuses_what_has_no_name(n):
    with pytest.raises(ValueError, match="no name"):
        cardinal(n)


@given(st.integers(0, 10**MAX_DIGITS - 1))
def test_cardinals_differ_and_say_no_empty_group(n):
    assert cardinal(n) != cardinal(n ^ 1)
    assert "  " not in cardinal(n) and cardinal(n) == cardinal(n).strip()


@pytest.mark.parametrize(
    ("n", "words"),
    [(1, "first"), (2, "second"), (12, "twelfth"), (20, "twentieth"), (21, "twenty-first"), (100, "one hundredth")],
)
def test_ordinal(n, words):
    assert ordinal(n) == words


@pytest.mark.parametrize(
    ("n", "words"),
    [
        (1905, "nineteen oh-five"),
        (1900, "nineteen hundred"),
        (1999, "nineteen ninety-nine"),
        (2000, "two thousand"),
        (2005, "two thousand five"),
        (2024, "twenty twenty-four"),
        (1066, "ten sixty-six"),
        (45, "forty-five"),
    ],
)
def test_year(n, words):
    assert year(n) == words


def test_decimals_are_read_as_written():
    assert decimal("3.10") == "three point one zero"
    assert decimal(".75") == "point seven five"
    assert decimal("5.") == "five"


def test_digit_names():
    assert digit_names("07") == ["zero", "seven"]
