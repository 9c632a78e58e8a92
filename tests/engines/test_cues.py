import pytest
from hypothesis import given
from hypothesis import strategies as st
from mizuoto.engines.cues import TimedText, read_subtitles
from mizuoto.mizuoto_runtime.errors import InvalidRequest

SRT = """1
00:00:01,000 --> 00:00:02,500
Hello there,
my friend.

2
00:00:03,000 --> 00:00:04,000
Second.
"""
CUES = [TimedText(1.0, 2.5, "Hello there, my friend.", 1), TimedText(3.0, 4.0, "Second.", 2)]


@pytest.mark.parametrize(
    "text",
    [
        SRT,
        "\ufeff" + SRT.replace("\n", "\r\n"),
        SRT.replace("\n", "\r"),
        SRT.replace(",000", ",0").replace(",500", ",5"),
        SRT.replace("1\n00", "00").replace("2\n00", "00"),
        SRT.replace(",", "."),
        SRT.replace(" --> ", "-->"),
        SRT.replace("my friend", r"{\an8}<i>my</i> friend"),
        SRT.rstrip("\n"),
        "\n\n" + SRT + "\n\n\n",
    ],
    ids=range(10),
)
def test_srt_as_it_is_found(text):  # P49
    found = read_subtitles(text)
    assert [(cue.start, cue.end) for cue in found] == [(1.0, 2.5), (3.0, 4.0)]
    assert [cue.text.replace(".", ",").replace(",", "") for cue in found] == ["Hello there my friend", "Second"]


def test_vtt():
    text = (
        "WEBVTT\n\nNOTE by hand\n\nfirst\n00:01.000 --> 00:02.500 align:start\n<v Anna>Hello there,\nmy friend.</v>"
        "\n\nsecond\n00:00:03.000 --> 00:00:04.000\nSecond.\n"
    )
    assert read_subtitles(text) == CUES
    (cue,) = read_subtitles("WEBVTT\n\n00:01.000 --> 00:02.500\nTom &amp; Jerry\n")
    assert cue.text == "Tom & Jerry"


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("Set {x} here", "Set {x} here"),
        ('a <break time="1s"/> b', 'a <break time="1s"/> b'),
        ("2 < 3 > 1", "2 < 3 > 1"),
        ('<font color="red">Red</font> <b>bold</b>', "Red bold"),
        (r"{\an8}{\i1}Up", "Up"),
        ("[pause:1s] x", "[pause:1s] x"),
    ],
)
def test_tags_of_subtitles_go_and_words_stay(written, words):
    assert [cue.text for cue in read_subtitles(SRT.replace("Second.", written))] == ["Hello there, my friend.", words]


def cue(start, end, text="Word."):
    return f"1\n00:00:{start:02},000 --> 00:00:{end:02},000\n{text}\n\n"


def test_overlapping_empty_zero_length_and_shuffled_cues():  # P49
    text = cue(5, 8) + cue(6, 6) + cue(1, 9) + cue(2, 3, "") + cue(3, 4, "♪")
    found = read_subtitles(text)
    assert [(c.start, c.end, c.number) for c in found] == [(1.0, 9.0, 3), (5.0, 8.0, 1), (6.0, 6.0, 2)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "These are no subtitles"),
        ("Just a text.", "These are no subtitles"),
        (SRT.replace("00:00:03,000", "00:00:03"), 'Line 7 of the subtitles, "00:00:03 --> 00:00:04,000", is no time'),
        (SRT.replace("00:00:03,000", "soon"), "Line 7 of the subtitles"),
        (cue(1, 2) + cue(5, 4), "Line 6 of the subtitles: the cue ends before it begins"),
        (cue(1, 2, "") + cue(3, 4, "♪♪"), "The subtitles have no words"),
        (SRT.replace("00:00:04", "99:00:04"), "Line 7 of the subtitles: the limit is 6 hours"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text, told):
    with pytest.raises(InvalidRequest) as caught:
        read_subtitles(text)
    assert told in str(caught.value)


@given(
    st.lists(st.sampled_from(["1", "00:00:01,000 --> 00:00:02,000", "-->", "text", "", "WEBVTT", "{\\an8}", "NOTE x"]))
)
def test_odd_files_give_cues_or_one_sentence(lines):
    try:
        found = read_subtitles("\n".join(lines))
    except InvalidRequest as error:
        assert "subtitles" in str(error)
    else:
        assert found
