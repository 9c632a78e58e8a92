import pytest
from mizuoto.mizuoto_runtime.text.graphemes import is_joined


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("e\u0301", 1),
        ("👨\u200d👩", 1),
        ("👨\u200d👩", 2),
        ("👍🏽", 1),
        ("❤\ufe0f", 1),
        ("🇫🇷", 1),
        ("🇫🇷🇩🇪", 3),
        ("\r\n", 1),
        ("\ud83d\ude00", 1),
        ("नि", 1),
        ("\u1112\u1161\u11ab", 2),
    ],
)
def test_joined(text, at):
    assert is_joined(text, at)


@pytest.mark.parametrize(("text", "at"), [("ab", 1), ("🇫🇷🇩🇪", 2), ("中文", 1), ("a\n", 1), ("한국", 1), ("😀😀", 1)])
def test_apart(text, at):
    assert not is_joined(text, at)


def test_flags_are_counted_from_the_start():
    assert not is_joined("🇫🇷🇩🇪", 3, 1)
