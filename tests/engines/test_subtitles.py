"""Subtitles: readable cues, nothing lost, and files that a reader of subtitles understands."""

import html
import itertools
import json
import sys

import pysubs2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mizuoto.engines import subtitles
from mizuoto.engines.subtitles import MAX_COLUMNS, MAX_CUE_S, MAX_LINES, SUFFIXES, Cue, cues, readable, render, write
from mizuoto.engines.transcript import Passage, Transcript, Word
from mizuoto.mizuoto_runtime.errors import InvalidRequest, Unsupported

SENTENCE = "The committee met on Tuesday, and it decided nothing at all; then everyone went home, tired but content."


def said(*passages, language="en"):
    return Transcript("test", language, 100.0, passages)


def spoken(text, start=0.0, word_s=0.3):
    """A passage of words that follow each other every `word_s` seconds, each of them a little shorter."""
    words = text.split()
    times = [start + i * word_s for i in range(len(words) + 1)]
    timed = tuple(Word(word, times[i], times[i] + word_s * 0.8, 1.0) for i, word in enumerate(words))
    return Passage(text, start, times[-1], timed)


def letters(texts):
    return "".join("".join(texts).split())


def check(shown, text):
    assert letters(cue.text for cue in shown) == letters([text])
    for cue in shown:
        assert cue.start < cue.end <= cue.start + MAX_CUE_S + 0.002
        assert len(cue.text.split("\n")) <= MAX_LINES
        assert all(subtitles._columns(line) <= MAX_COLUMNS for line in cue.text.split("\n"))
    assert all(one.end <= other.start for one, other in itertools.pairwise(shown))


def test_a_short_passage_is_one_cue():
    assert cues(said(Passage("Good morning.", 1.0, 2.5))) == [Cue(1.0, 2.5, "Good morning.")]


def test_a_long_passage_is_cut_at_punctuation_and_at_the_times_of_its_words():
    passage = spoken(SENTENCE, 10.0)
    shown = cues(said(passage))
    check(shown, SENTENCE)
    assert [cue.text.replace("\n", " ") for cue in shown] == [
        "The committee met on Tuesday, and it decided nothing at all;",
        "then everyone went home, tired but content.",
    ]
    assert [cue.start for cue in shown] == [passage.words[0].start, passage.words[11].start]
    assert [cue.end for cue in shown] == pytest.approx([passage.words[10].end, passage.words[-1].end], abs=1e-3)


def test_slow_speech_is_cut_by_time():
    shown = cues(said(spoken("One, two, three, four, five, six.", word_s=2.0)))
    check(shown, "One, two, three, four, five, six.")
    assert len(shown) == 2 and shown[0].text == "One, two, three,"


def test_without_times_of_words_they_are_shared_out_by_length():
    text = " ".join([SENTENCE] * 4)
    shown = cues(said(Passage(text, 0.0, len(text) / 10)))
    check(shown, text)
    at = 0
    for cue in shown:
        at = text.index(cue.text.replace("\n", " "), at)
        assert cue.start == pytest.approx(at / 10, abs=2e-3)
        assert cue.end == pytest.approx(min((at + len(cue.text)) / 10, cue.start + MAX_CUE_S), abs=2e-3)


def test_scripts_without_spaces():
    text = "今天天气很好，我们一起去公园散步吧。" * 5
    words = tuple(Word(character, i * 0.2, i * 0.2 + 0.2, 1.0) for i, character in enumerate(text))
    for passage in (Passage(text, 0.0, 18.0), Passage(text, 0.0, 18.0, words)):
        shown = cues(said(passage, language="zh"))
        check(shown, text)
        assert all(cue.text[-1] in "，。" for cue in shown)


def test_one_endless_word_is_cut_between_characters():
    check(cues(said(Passage("a" * 300, 0.0, 60.0))), "a" * 300)


def test_a_word_that_lasts_too_long_is_shown_for_a_while():
    assert cues(said(spoken("Aaah", word_s=20.0))) == [Cue(0.0, MAX_CUE_S, "Aaah")]


def test_words_that_the_passage_spells_otherwise_do_no_harm():
    text = "Twenty-five people, all of them in blue, came to the opening of the exhibition on the 3rd of May, 2021."
    words = tuple(
        Word(w, i * 0.4, i * 0.4 + 0.4, 1.0)
        for i, w in enumerate(["25", "people", "of", "the", "nowhere", "exhibition"])
    )
    check(cues(said(Passage(text, 0.0, 20.0, words))), text)


def test_times_that_overlap_go_backwards_or_stand_still():
    shown = cues(said(Passage("a", 3.0, 5.0), Passage("b", 4.0, 4.0), Passage("c", 2.0, 1.0), Passage("d", -1.0, 9.0)))
    check(shown, "abcd")
    assert [cue.start for cue in shown[:2]] == [3.0, 4.0] and shown[0].end == 4.0


def test_nothing_said_is_nothing_shown():
    for format, expected in (("text", ""), ("srt", ""), ("vtt", "WEBVTT\n"), ("timed text", "")):
        assert write(said(), format).strip() == expected.strip()
    assert readable([(0.0, 1.0, " \n")]) == []


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60).filter(lambda w: w.strip())
TIMED = st.tuples(st.floats(0, 1e4), st.floats(0, 1e4), st.lists(WORDS, min_size=1, max_size=30).map(" ".join))


@settings(max_examples=60, deadline=None)
@given(st.lists(TIMED, max_size=4))
def test_no_character_is_lost_and_no_two_cues_meet(timed):
    check(readable(timed), " ".join(text for _, _, text in timed))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(WORDS, st.floats(0, 3), st.floats(0, 3)), min_size=1, max_size=40), st.booleans())
def test_the_same_with_times_of_words(heard, are_glued):
    times = list(itertools.accumulate((pause + length for _, pause, length in heard), initial=0.0))
    words = tuple(Word(text, times[i] + pause, times[i + 1], 1.0) for i, (text, pause, length) in enumerate(heard))
    text = ("" if are_glued else " ").join(word.text for word in words)
    check(cues(said(Passage(text, 0.0, times[-1], words))), text)


# Readers of subtitles take a last line of digits alone for the number of the next entry, and tags for what they are.
PLAIN = st.lists(
    st.text(st.characters(exclude_characters="<>\\{}", categories=["L", "P", "S", "N"]), min_size=1, max_size=20),
    min_size=1,
    max_size=30,
).map(lambda words: " ".join([*words, "end"]))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1e4), st.floats(0, 20), PLAIN), max_size=4), st.sampled_from(["srt", "vtt"]))
def test_a_reader_of_subtitles_finds_the_same(timed, format):
    shown = readable(timed)
    file = pysubs2.SSAFile.from_string(render(shown, format), format_=format)
    assert [(event.start / 1000, event.end / 1000) for event in file] == [(cue.start, cue.end) for cue in shown]
    read = [event.plaintext for event in file]
    assert [html.unescape(text) if format == "vtt" else text for text in read] == [cue.text for cue in shown]


@pytest.mark.parametrize("text", [r"C:\new\Nothing\here", r"{\p1}drawn{\p0}", "{music}", "a --> b", "1 < 2 & 3 > 2"])
@pytest.mark.parametrize("format", ["srt", "vtt"])
def test_marks_of_subtitle_formats_stay_text(text, format):
    written = render([(0.0, 1.0, text), (1.0, 2.0, "next")], format).replace("\u2060", "")
    assert (html.escape(text, quote=False) if format == "vtt" else text) in written
    assert len(pysubs2.SSAFile.from_string(written, format_=format)) == 2
    assert format != "vtt" or written.count("-->") == 2


def test_the_formats_of_a_transcript():
    transcript = said(Passage("One.", 0.5, 1.25), Passage("Two.", 3661.0, 3662.0))
    assert write(transcript, "text") == "One. Two."
    assert write(transcript, "timed text") == "[0:00:00.500 - 0:00:01.250] One.\n[1:01:01.000 - 1:01:02.000] Two."
    assert write(transcript, "srt").startswith("1\n00:00:00,500 --> 00:00:01,250\nOne.\n\n2\n01:01:01,000 --> ")
    assert write(transcript, "vtt").startswith("WEBVTT\n\n1\n00:00:00.500 --> 00:00:01.250\nOne.\n")
    assert Transcript.from_json(write(transcript, "json")) == transcript
    assert json.loads(render([(0.0, 1.0, "x")], "json")) == [{"start": 0.0, "end": 1.0, "text": "x"}]
    assert render(cues(transcript), "text") == "One.\nTwo."


def test_an_unknown_format_names_the_others():
    for call in (write, render):
        with pytest.raises(InvalidRequest, match=r'no format "SRTT"; there are: text, srt, .*Did you mean "srt"'):
            call(said(), "SRTT")
    assert all(suffix.startswith(".") for suffix in SUFFIXES.values())


def test_without_pysubs2_only_subtitles_are_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "pysubs2", None)
    transcript = said(Passage("One.", 0.5, 1.25))
    with pytest.raises(Unsupported, match=r"need the package pysubs2, which is not installed; install"):
        write(transcript, "srt")
    assert [write(transcript, name) for name in ("text", "timed text", "json")]
