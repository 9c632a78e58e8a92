import pytest
from hypothesis import given
from hypothesis import strategies as st
from mizuoto.mizuoto_runtime.errors import InvalidRequest
from mizuoto.mizuoto_runtime.text.marks import MAX_PAUSE_S, BadMark, Manner, Pause, Speech, read_marks
from mizuoto.mizuoto_runtime.text.script import speakers_of

SPEAKERS = speakers_of(["Anna", "Old Ben", "老师"])


def read(text, speakers=SPEAKERS):
    return list(read_marks(text, speakers))


@pytest.mark.parametrize(
    ("mark", "seconds"),
    [
        ("[pause]", 0.5),
        ("[PAUSE:0.5]", 0.5),
        ("[pause:1s]", 1.0),
        ("[pause: 1.5 s ]", 1.5),
        ("[pause:2]", 2.0),
        ("[pause:500]", 0.5),
        ("[pause:500ms]", 0.5),
        ("[pause:5ms]", 0.005),
        ("[pause:2 seconds]", 2.0),
        ("[pause:0]", 0.0),
        ("[pause:.25]", 0.25),
        ("[pause:999]", 0.999),
        ("[pause:999s]", MAX_PAUSE_S),
        ('<break time="500ms"/>', 0.5),
        ("<break time='2s' />", 2.0),
        ("<BREAK/>", 0.5),
    ],
)
def test_pauses(mark, seconds):  # P47
    assert read(f"One {mark} two.") == [Speech("One "), Pause(seconds), Speech(" two.")]


@pytest.mark.parametrize("mark", ["[pause:]", "[pause:long]", "[pause:-1]", "[pause:1h]", '<break strength="x"/>'])
def test_marks_that_cannot_be_followed_are_told_and_not_read(mark):  # P47
    assert read(f"One {mark} two.") == [Speech("One "), BadMark(mark), Speech(" two.")]


def test_a_colon_behind_a_pause_is_text():
    assert read("So [pause:1s]: two") == [Speech("So "), Pause(1.0), Speech(": two")]


@pytest.mark.parametrize(
    ("mark", "manner"),
    [
        ("[Anna]", Manner("Anna")),
        ("[anna]", Manner("Anna")),
        ("[ OLD BEN ]", Manner("Old Ben")),
        ("[老师]", Manner("老师")),
        ("[Anna]:", Manner("Anna")),
        ("[German:Anna]", Manner("Anna", "de")),
        ("[de:Anna|seed:3]", Manner("Anna", "de", 3)),
        ("[Anna|seed:42|speed:1.1]", Manner("Anna", "", 42, 1.1)),
        ("[Anna | Speed: 0.5 | lang: French]", Manner("Anna", "fr", None, 0.5)),
        ("[Anna|seed:18446744073709551615]", Manner("Anna", "", 2**64 - 1)),
    ],
)
def test_changes_of_the_speaker_hold_until_the_next(mark, manner):
    found = read(f"Zero. {mark} One. [pause:1s] Two. [Old Ben] Three.")
    ben = Manner("Old Ben")
    assert found == [
        Speech("Zero. "), Speech(" One. ", manner), Pause(1.0), Speech(" Two. ", manner), Speech(" Three.", ben),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "[laugh] Ha!", "[Bob] is not known.", "[1] A footnote [sic].", "[Klingon:Anna]", "[a:b:c]", "[Note|color:red]",
        "an [unclosed", "closed]", "[]", "[[Anna", "<b>bold</b>", "<breakfast>", "a < b > c", "[An\nna]", "(sighs)",
        "Anna: no mark here", "[pauses]", "[x](link)",
    ],
)  # fmt: skip
def test_other_brackets_are_text(text):
    assert read(text) == [Speech(text)]


@pytest.mark.parametrize(
    ("mark", "told"),
    [
        ("[Anna|sede:4]", '"sede" is no setting; there are seed, speed and language. Did you mean "seed"?'),
        ("[Anna|seed:x]", 'seed is "x"; it takes a whole number'),
        ("[Anna|seed:-1]", 'seed is "-1"'),
        ("[Anna|seed:99999999999999999999]", "a whole number"),
        ("[Anna|speed:9]", "a number from 0.25 to 4"),
        ("[Anna|speed:nan]", "a number from"),
        ("[Anna|speed:]", "a number from"),
        ("[Anna|language:Klingon]", "a language such as German"),
        ("[Anna|]", "is no setting"),
    ],
)
def test_a_wrong_setting_is_told_with_its_mark(mark, told):
    with pytest.raises(InvalidRequest) as caught:
        read(mark)
    assert told in str(caught.value)
    assert mark in str(caught.value)


@pytest.mark.parametrize("mark", ["[Anne]", "[Ana]", "[Old Benn]", "[Charlotte|seed:4]", "[de:Charlotte|speed:2]"])
def test_a_mark_that_is_meant_as_a_speaker_is_told(mark):
    with pytest.raises(InvalidRequest, match=r"there is no voice for .*; the voice bank has Anna, Old Ben, 老师"):
        read(f"x {mark} y")


@pytest.mark.parametrize("name", ["José", "Jose\u0301", "Ｊｏｓé", "O’Neil"])
def test_a_name_makes_its_own_mark_however_it_is_written(name):
    assert read(f"[{name}] Hi.", speakers_of([name])) == [Speech(" Hi.", Manner(name))]


def test_without_speakers_only_pauses_are_marks():
    assert read("[Anna] [pause] x", {}) == [Speech("[Anna] "), Pause(0.5), Speech(" x")]


PIECES = st.sampled_from(
    ["[", "]", "pause", ":", "1s", "Anna", "|", "<break", "/>", "\n", "x ", "seed", "5", '"', "time="]
)


@given(st.lists(PIECES | st.text(max_size=5), max_size=30).map("".join))
def test_nothing_but_marks_is_lost(text):
    parts = list(read_marks(text, {}))
    spoken = "".join(part.text for part in parts if not isinstance(part, Pause))
    rest = iter(text)
    assert all(character in rest for character in spoken)  # in order
    if not any(isinstance(part, Pause) for part in parts):
        assert spoken == text
