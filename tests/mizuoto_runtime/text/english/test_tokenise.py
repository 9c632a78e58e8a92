import pytest
from hypothesis import given
from hypothesis import strategies as st
from mizuoto.mizuoto_runtime.text.english.tokenise import Tokeniser


@pytest.fixture(scope="module")
def tokenise(data):
    return Tokeniser(data.special)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("I don't.", "I do n't ."),
        ("(Hello, world!)", "( Hello , world ! )"),
        ("Sept. was Dr. No's", "Sept. was Dr. No 's"),
        ("well-known cats/dogs", "well - known cats / dogs"),
        ("5km 10% $3.50", "5 km 10 % $ 3.50"),
        ("wait...", "wait ..."),
        ("see www.example.org/a-b, ok", "see www.example.org/a-b , ok"),
        ("me@example.com", "me@example.com"),
        ("the U.S.", "the U.S."),
        ("NASA.", "NASA ."),
        ("end.Start", "end . Start"),
    ],
)
def test_tokens(tokenise, text, tokens):
    assert [t for t, _ in tokenise(text)] == tokens.split()


def test_spaces_stay_with_the_token_before(tokenise):
    assert tokenise("a b, c") == [("a", " "), ("b", ""), (",", " "), ("c", "")]


@given(st.text(max_size=80))
def test_no_character_is_lost_and_no_token_is_empty(tokenise, text):
    tokens = [t for t, _ in tokenise(text)]
    assert "".join(tokens) == "".join(text.split())
    assert all(tokens)


def test_long_runs_of_punctuation_take_linear_time(tokenise):
    assert len(tokenise("(" * 3000)) == 3000
    assert tokenise("." * 100_000) == [("." * 100_000, "")]
