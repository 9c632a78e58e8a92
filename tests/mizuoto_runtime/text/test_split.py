import re
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mizuoto.mizuoto_runtime.text.graphemes import is_joined
from mizuoto.mizuoto_runtime.text.split import is_speakable, split

STORY = (
    "Dr. Smith paid $3.14 to J. R. R. Tolkien, e.g. for the U.S. Army (No. 5). He said: “Stop!” and left. [long pause] "
    "Then 5 000 000 people saw https://example.org/a,b?c=d. The end was near, or so they thought; nobody knew.\n\n"
    "今天天气很好，我们去公园散步吧。她说：「好的，没问题。」价格是１，０００元。東京へ行きましょうか？"
)
FRAGMENTS = [
    *(
        "word",
        " ",
        "  ",
        "\n",
        "\n\n",
        ". ",
        "! ",
        ", ",
        "Dr. ",
        "3.14",
        "[a tag]",
        "“",
        "”",
        "—",
        "…",
        "中文",
        "。",
        "，",
    ),
    *("é", "e\u0301", "👨\u200d👩\u200d👧", "🇫🇷", "https://a.b/c ", "x" * 40, "\0", "1 000", "U.S. "),
]
PIECES_OF_TEXT = st.sampled_from(FRAGMENTS)
TEXTS = st.one_of(st.text(max_size=200), st.lists(PIECES_OF_TEXT, max_size=60).map("".join))


@given(TEXTS, st.integers(1, 80))
def test_joining_gives_the_text_back_and_no_piece_is_too_long(text, limit):
    pieces = split(text, limit)
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= limit for piece in pieces)


@given(TEXTS, st.integers(4, 80))
def test_any_measure_holds(text, limit):
    def measure(s: str) -> int:
        return len(s.encode("utf-8", "surrogatepass"))

    pieces = split(text, limit, measure)
    assert "".join(pieces) == text
    assert all(measure(piece) <= limit for piece in pieces)


@given(st.lists(PIECES_OF_TEXT.filter(lambda p: len(p) <= 12), max_size=60).map("".join), st.integers(20, 60))
def test_graphemes_stay_whole(text, limit):
    at = 0
    for piece in split(text, limit)[:-1]:
        at += len(piece)
        assert not is_joined(text, at)


@given(
    st.lists(st.sampled_from(["a", "word", "sentence.", "clause,", "3.14", "Dr.", "extraordinary"]), min_size=1),
    st.integers(30, 90),
)
def test_words_stay_whole_and_no_scrap_is_left(words, limit):
    text = " ".join(words)
    assume("Dr. Dr." not in text)  # titles stay with what follows: of several, no cut leaves two fair pieces
    pieces = split(text, limit)
    assert [w for piece in pieces for w in piece.split()] == words
    if len(pieces) > 1:
        assert min(map(len, pieces)) >= limit / 5


@pytest.mark.parametrize("limit", [24, 30, 40, 60, 100, 150])
def test_what_belongs_together_stays_together(limit):
    whole = ["Dr. Smith", "$3.14", "J. R. R. Tolkien", "e.g. for", "U.S.", "No. 5", "[long pause]", "5 000 000"]
    pieces = split(STORY, limit)
    for part in [*whole, "https://example.org/a,b", "１，０００"]:
        assert any(part in piece for piece in pieces), part


def test_paragraph_before_sentence_before_clause_before_space():
    assert split("One two three. Four.\n\nFive six seven.", 30)[0] == "One two three. Four.\n\n"
    assert split("One two three. Four five six", 25)[0] == "One two three. "
    assert split("One two three, four five six", 25)[0] == "One two three, "
    assert split("One two three four five six", 25) == ["One two three ", "four five six"]


def test_an_early_comma_is_no_reason_for_a_short_piece():
    assert split("Oh, what a wonderful morning it is today for all", 40)[0] != "Oh, "


def test_chinese_is_cut_at_its_own_marks():
    text = "今天天气很好，我们去公园散步吧。她说好的，没问题。"
    assert split(text, 16) == ["今天天气很好，我们去公园散步吧。", "她说好的，没问题。"]


def test_a_word_over_the_limit_is_cut_at_the_limit():
    pieces = split("x" * 600, 100)
    assert [len(p) for p in pieces] == [100] * 6


def test_a_tag_over_the_limit_is_cut_at_a_space():
    pieces = split("[a very long tag indeed]", 12)
    assert [word for piece in pieces for word in piece.split()] == ["[a", "very", "long", "tag", "indeed]"]


def test_a_character_that_is_over_the_limit_by_itself_stands_alone():
    assert split("中文", 2, lambda s: len(s.encode())) == ["中", "文"]


def test_no_limit_and_no_text():
    assert split(STORY, 0) == [STORY]
    assert split("", 0) == split("", 5) == []
    with pytest.raises(ValueError, match="-1"):
        split("a", -1)


def test_what_fits_is_not_split():
    assert split(STORY, len(STORY)) == [STORY]


LONG = [STORY, "a", " ", "[", "[a ", "1 000 ", "…", "—", "。", ". ", "中", "\n", "🇫🇷", "e\u0301", '"', "\u0301"]


@pytest.mark.parametrize("unit", LONG, ids=[repr(u[:6]) for u in LONG])
def test_time_is_linear(unit):
    def seconds(num_chars: int) -> float:
        text = (unit * num_chars)[:num_chars]
        start = time.process_time()
        split(text, 200)
        return time.process_time() - start

    short, long = seconds(20_000), seconds(200_000)
    assert long < 25 * short + 0.1
    if unit == STORY:
        assert 5 * long < 3  # a million characters; the bound leaves room for a busy machine


@pytest.mark.parametrize("text", ["a", "5", "é", "中", "한", "[laugh]", "…a…", "٣"])
def test_speakable(text):
    assert is_speakable(text)


@pytest.mark.parametrize("text", ["", " \n", "...", "—!?", "😀👨\u200d👩", "。、", "“”", "\0", "$%&"])
def test_not_speakable(text):
    assert not is_speakable(text)


def test_sentences_are_found_in_prose():
    text = "It rained. The river rose by 2.5 m. Mr. Hill left; nobody followed! Why? " * 3
    pieces = split(text, 45)
    assert all(re.search(r"[.!?;] $", p) for p in pieces)


def test_where_every_cut_leaves_a_scrap_the_largest_is_left():
    assert split("a a a Dr. Dr. Dr. sentence. a a", 30) == ["a a a ", "Dr. Dr. Dr. sentence. a a"]
