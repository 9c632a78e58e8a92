import re

import pytest
from mizuoto.mizuoto_runtime.text.english.roman import ROMAN, roman_value


@pytest.mark.parametrize(
    ("numeral", "value"), [("I", 1), ("IV", 4), ("XIV", 14), ("XL", 40), ("XCIX", 99), ("CDXLIV", 444), ("CM", 900)]
)
def test_values(numeral, value):
    assert re.fullmatch(ROMAN, numeral)[1] == numeral
    assert roman_value(numeral) == value


@pytest.mark.parametrize("text", ["IIII", "VX", "IC", "I'm", "C.S.", "Mix", ""])
def test_what_is_none(text):
    assert re.match(ROMAN, text) is None
