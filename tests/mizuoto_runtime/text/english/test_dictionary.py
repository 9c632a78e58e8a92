import numpy as np
import pytest
from mizuoto.mizuoto_runtime.text.english.dictionary import Dictionary, parse_reading


@pytest.fixture
def dictionary():
    readings = [b"a", b"b", b"DEFAULT=c;NOUN=;VERB=d"]
    return Dictionary(
        {
            "words": np.array([b"Paris", b"US", b"use"]),
            "starts": np.cumsum([0, *map(len, readings)]),
            "readings": np.frombuffer(b"".join(readings), np.uint8),
        }
    )


def test_readings(dictionary):
    assert dictionary.get("Paris") == "a"
    assert dictionary.get("use") == {"DEFAULT": "c", "NOUN": None, "VERB": "d"}


def test_the_other_case_serves(dictionary):
    assert dictionary.get("paris") == "a"
    assert "Use" in dictionary
    assert "us" not in dictionary and "PARIS" not in dictionary


def test_parse_reading():
    assert parse_reading("həlˈO") == "həlˈO"
    assert parse_reading("DEFAULT=x;VBD=") == {"DEFAULT": "x", "VBD": None}
