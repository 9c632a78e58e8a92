import json

import pytest
from mizuoto.mizuoto_runtime.errors import InvalidRequest
from mizuoto.mizuoto_runtime.text.marks import Manner, Pause, Speech
from mizuoto.mizuoto_runtime.text.script import read_line, read_script, speakers_of

SPEAKERS = speakers_of(["Anna", "Speaker 1", "Ben"])
ANNA, BEN = Manner("Anna"), Manner("Ben")


def spoken(text):
    """(speaker, words) of what is said."""
    parts = read_script(text, SPEAKERS)
    return [
        (part.manner.speaker, part.text.strip()) for part in parts if isinstance(part, Speech) and part.text.strip()
    ]


def test_lines_with_names():
    script = "Once upon a time:\nAnna: Good morning.\n  BEN : Morning!\nHow are you?\n\nAnna：很好。\n"
    assert spoken(script) == [
        ("", "Once upon a time:"), ("Anna", "Good morning."), ("Ben", "Morning!"), ("Ben", "How are you?"),
        ("Anna", "很好。"),
    ]  # fmt: skip


def test_names_with_numbers_and_brackets():
    assert spoken("Speaker 1: One.\n[Ben]: Two.\n[Anna] Three.") == [
        ("Speaker 1", "One."),
        ("Ben", "Two."),
        ("Anna", "Three."),
    ]


def test_a_mark_in_a_line_holds_on_the_next_line():
    assert spoken("Anna: One. [Ben] Two.\nThree.") == [("Anna", "One."), ("Ben", "Two."), ("Ben", "Three.")]


def test_marks_in_lines():
    parts = read_script("Anna: One. [pause:1s] Two. [laugh]", SPEAKERS)
    assert parts == [Speech("One. ", ANNA, 1), Pause(1.0), Speech(" Two. [laugh]", ANNA, 1)]


@pytest.mark.parametrize(
    "line",
    [
        "Anna:5 apples.", "Anna：5 apples.", "\ufeffAnna: 5 apples.", "Anna\u00a0: 5 apples.", "ANNA : 5 apples.",
        "Ａｎｎａ：5 apples.", "**Anna:** 5 apples.", "- Anna: 5 apples.", "> *Anna*: 5 apples.", "# Anna: 5 apples.",
    ],
)  # fmt: skip
def test_names_as_people_and_programs_write_them(line):  # P45
    assert spoken(line) == [("Anna", "5 apples.")]


def test_a_pause_in_front_of_a_name_counts():
    assert read_script("[pause:1s] Anna: Hi.", SPEAKERS) == [Pause(1.0), Speech("Hi.", ANNA, 1)]


@pytest.mark.parametrize("name", ["2B", "Tom & Co", "José", "o'neil-smith"])
def test_every_name_of_a_bank_can_begin_a_line(name):
    parts = read_script(f"{name}: Hi.\nJose\u0301: Hi.", speakers_of([name, "José"]))
    assert parts[0] == Speech("Hi.\n", Manner(name), 1)
    assert parts[1].manner.speaker == "José"


def test_prose_with_headings_is_no_script():
    text = "Chapter 1: The start\nNobody knew.\nNote: this is prose.\n{deep} silence."
    assert [speaker for speaker, _ in spoken(text)] == [""] * 4


@pytest.mark.parametrize("line", ["Warning: hot", "JOHN: Hi", "[{ odd", "{x} y", "Note: a: b"])
def test_a_line_that_is_no_script_is_text(line):
    assert read_line(line, SPEAKERS) == [Speech(line)]
    assert read_line("ben: Hi. [pause:1s] Yo.", SPEAKERS) == [Speech("Hi. ", BEN), Pause(1.0), Speech(" Yo.", BEN)]


def test_lines_are_counted_as_editors_do():
    with pytest.raises(InvalidRequest, match="Line 3: there is no voice"):
        read_script("Anna: a\u2028\x0b\x85b\r\n\rBob: c", SPEAKERS)


@pytest.mark.parametrize(
    "line",
    ["he said: go", "It is 10:30 now.", "See http://x.org", "The best thing about it: rest", "Ratio 3:4", "12: x"],
)
def test_colons_in_prose_are_text(line):
    assert spoken(line) == [("", line)]


@pytest.mark.parametrize(("script", "line"), [("Anna: Hi.\nBob: Hi.", "Line 2"), ("Bob: Hi.", "Line 1")])
def test_a_speaker_without_a_voice_is_named_with_the_line(script, line):
    with pytest.raises(
        InvalidRequest, match=rf'{line}: there is no voice for "Bob"; the voice bank has Anna, Speaker 1, Ben'
    ):
        read_script(script, SPEAKERS)


def test_a_mistyped_name_is_recognised():
    with pytest.raises(InvalidRequest, match='Did you mean "Anna"'):
        read_script("Ana: Hi.", SPEAKERS)


def test_an_empty_bank_is_told():
    with pytest.raises(InvalidRequest, match="the voice bank is empty"):
        read_script("Anna: Hi.", {})


def test_json():
    entries = [
        {"speaker": "anna", "text": "One. [pause:2s] Two.", "seed": 3, "speed": 1.5, "language": "German"},
        {"pause": 1},
        {"name": "Ben", "text": "Three."},
        {"text": "Four."},
    ]
    manner = Manner("Anna", "de", 3, 1.5)
    expected = [
        Speech("One. ", manner, 1), Pause(2.0), Speech(" Two.\n", manner, 1), Pause(1.0), Speech("Three.\n", BEN, 3),
        Speech("Four.\n", line=4),
    ]  # fmt: skip
    assert read_script(json.dumps(entries), SPEAKERS) == expected
    assert read_script(json.dumps({"lines": entries}), SPEAKERS) == expected


def test_a_bracket_at_the_beginning_is_no_json():
    assert spoken("[Anna] Hello.") == [("Anna", "Hello.")]


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ('[{"text": ', "begins like JSON but is none"),
        ('{"a": 1}', "is a list such as"),
        ('[{"speaker": "Anna"}]', 'Entry 1 of the script has no "text"'),
        ('[{"text": 3}]', 'Entry 1: "text" is'),
        ('[{"text": "x"}, {"text": "y", "seed": "a"}]', 'Entry 2: seed is "a"'),
        ('[{"text": "x", "speaker": "Bob"}]', 'Entry 1: there is no voice for "Bob"'),
        ('[{"pause": "long"}]', 'Entry 1: "pause" is'),
        ('[{"pause": -1}]', 'Entry 1: "pause" is'),
        ("[{" * 20_000, "begins like JSON but is none"),
    ],
)
def test_wrong_json_is_told(script, told):
    with pytest.raises(InvalidRequest) as caught:
        read_script(script, SPEAKERS)
    assert told in str(caught.value)


@pytest.mark.parametrize("script", ["", " \n", "🎉", "[]"])
def test_a_script_without_words_says_nothing(script):
    assert [text for _, text in spoken(script) if any(map(str.isalnum, text))] == []
