from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from mizuoto.mizuoto_runtime.text.marks import BadMark, Manner, Pause, Speech, read_marks
from mizuoto.mizuoto_runtime.text.pauses import PARAGRAPH_PAUSE_S, SENTENCE_PAUSE_S
from mizuoto.mizuoto_runtime.text.plan import Line, plan
from mizuoto.mizuoto_runtime.text.split import is_speakable

ANNA = Manner("Anna")


def planned(text, limit=0, **more):
    return plan(read_marks(text, {"anna": "Anna"}), limit, **more)


def test_lines_and_pauses():
    assert planned("One. [pause:1s] Two. [Anna] Three.").items == (
        Line("One."), Pause(1.0), Line("Two."), Line("Three.", ANNA),
    )  # fmt: skip


def test_of_pauses_side_by_side_the_longest_counts():
    assert planned("[pause:1s] [pause:3s][pause:2s] One.").items == (Pause(3.0), Line("One."))


def test_lines_of_a_script_stay_apart():
    found = plan([Speech("One. ", ANNA, 1), Speech("Two. ", ANNA, 1), Speech("Three.", ANNA, 2)], 0)
    assert found.items == (Line("One. Two.", ANNA, 1), Line("Three.", ANNA, 2))


def test_bad_marks_cut_nothing_and_are_told():
    found = planned("One [pause:x] two.")
    assert found.items == (Line("One  two."),)
    assert found.unread == ("[pause:x]",)


def test_lines_fit():
    assert [line.text for line in planned("One two. Three four. Five six.", limit=12).lines] == [
        "One two.", "Three four.", "Five six.",
    ]  # fmt: skip


def test_texts_are_prepared_before_they_are_cut():
    found = planned("a 7. [Anna] b 7.", limit=6, prepare=lambda text, language: text.replace("7", "seven"))
    assert [line.text for line in found.lines] == ["a", "seven.", "b", "seven."]


def test_each_part_is_prepared_in_its_language():
    asked = []
    plan(
        [Speech("x", Manner(language="de")), Speech("y")],
        0,
        prepare=lambda text, language: asked.append(language) or text,
    )
    assert asked == ["de", ""]


def test_paragraphs_headings_and_other_speakers_get_their_pause():
    found = planned("Chapter One\nIt was late. He slept.\n\n***\n\nMorning came", limit=14)
    assert found.items == (
        Line("Chapter One"), Pause(SENTENCE_PAUSE_S), Line("It was late."), Line("He slept."), Pause(PARAGRAPH_PAUSE_S),
        Line("Morning came"),
    )  # fmt: skip
    assert planned("yes [Anna] no").items == (Line("yes"), Pause(SENTENCE_PAUSE_S), Line("no", ANNA))
    assert planned("Yes. [Anna] No.").items == (Line("Yes."), Line("No.", ANNA))


def test_what_belongs_to_the_words_before_a_pause_is_not_said_after_it():
    assert planned("Hello [pause:1s], world.").items == (Line("Hello"), Pause(1.0), Line("world."))


def test_what_has_no_words_is_not_spoken():
    assert planned("🎉 ... [pause:1s] !").items == (Pause(1.0),)
    assert planned("").items == ()


WORDS = st.sampled_from(
    ["word ", "Sentence. ", "。", "漢字", "[pause:1s]", "[Anna]", "[laugh]", "\n\n", "3.14 ", "x" * 30]
)


@given(st.lists(WORDS | st.text(max_size=4), max_size=25).map("".join), st.integers(0, 40))
def test_no_word_is_lost_and_every_line_fits(text, limit):
    parts = list(read_marks(text, {"anna": "Anna"}))
    found = plan(parts, limit)
    said = "".join(line.text for line in found.lines)
    written = "".join(part.text for part in parts if isinstance(part, Speech))
    assert [c for c in said if c.isalnum()] == [c for c in written if c.isalnum()]
    assert not limit or all(len(line.text) <= limit for line in found.lines)
    assert all(is_speakable(line.text) and line.text == line.text.strip() for line in found.lines)
    kinds = [type(item) for item in found.items]
    assert (Pause, Pause) not in pairwise(kinds)
    assert found.unread == tuple(part.text for part in parts if isinstance(part, BadMark))
