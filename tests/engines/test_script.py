from itertools import pairwise

import pytest
import torch
from mizuoto.engines import speech
from mizuoto.engines.artifacts import VoicePrompt
from mizuoto.engines.base import Options
from mizuoto.engines.script import Cast
from mizuoto.mizuoto_runtime.errors import InvalidRequest
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.mizuoto_runtime.settings import Settings
from mizuoto.mizuoto_runtime.text.script import read_script, speakers_of
from mizuoto.tests.engines.dummy import SAMPLE_RATE, LoadedDummy

VOICES = {"Anna": VoicePrompt("dummy", "high"), "Ben": VoicePrompt("dummy", "low")}
SCRIPT = "Once upon a time.\nAnna: Good morning. [pause:2s] Are you up?\nBen: No.\n"


@pytest.fixture
def runtime():
    return Runtime(Settings())


@pytest.fixture
def engine(runtime):
    return LoadedDummy(runtime)


def perform(engine, runtime, script=SCRIPT, voices=VOICES, seed=5, options=None):
    ctx = runtime.context(seed)
    parts = read_script(script, speakers_of(voices))
    audio, takes = speech.perform(engine, parts, Cast(None, voices), options, ctx)
    return audio, takes, ctx.report


def talked(engine):
    """(text, name of the voice, seed, options) of every call."""
    return [(text, voice and voice.name, seed, options) for what, text, seed, options, voice in
            (call for call in engine.calls if call[0] == "talk")]  # fmt: skip


def test_everybody_speaks_with_their_own_voice_in_order(engine, runtime):
    _, takes, report = perform(engine, runtime)
    said = [("Once upon a time.", None), ("Good morning.", "high"), ("Are you up?", "high"), ("No.", "low")]
    assert [call[:2] for call in talked(engine)] == said
    assert [(take.text, take.speaker) for take in takes] == [
        ("Once upon a time.", ""), ("Good morning.", "Anna"), ("Are you up?", "Anna"), ("No.", "Ben"),
    ]  # fmt: skip
    assert report.params["speakers"] == ["Anna", "Ben"]
    assert report.segments == 4


def test_takes_tell_where_everything_is(engine, runtime):
    audio, takes, _ = perform(engine, runtime)
    assert takes[0].start == 0.0
    assert takes[-1].end == pytest.approx(audio.seconds, abs=1e-3)
    assert takes[2].start - takes[1].end == pytest.approx(2.0, abs=1e-3)
    samples = audio.waveform[0]
    for before, after in pairwise(takes):
        assert before.end <= after.start
        assert not samples[round(before.end * SAMPLE_RATE) + 1 : round(after.start * SAMPLE_RATE) - 1].any()


def test_a_changed_line_leaves_the_others(engine, runtime):
    one, takes, _ = perform(engine, runtime)
    other, others, _ = perform(engine, runtime, SCRIPT.replace("No.", "Yes, I am."))
    assert takes[:3] == others[:3]
    until = round(takes[2].end * SAMPLE_RATE)
    assert torch.equal(one.waveform[:, :until], other.waveform[:, :until])


def test_marks_set_seed_and_what_the_engine_can(engine, runtime):
    _, takes, report = perform(engine, runtime, "[Anna|seed:7|speed:2] One. [Ben|lang:de] Two.")
    assert takes[0].seed == 7
    (warning,) = report.warnings
    assert warning["items"] == ["speed 2.0", "language German"]
    assert warning["text"] == "This model cannot be asked for:"
    assert all("speed" not in options for *_, options in talked(engine))


def test_a_bracket_that_may_be_meant_as_a_name_is_told(engine, runtime):
    _, _, report = perform(engine, runtime, "[Anna] Hi.\n[Charlotte] Ho.\n[laugh] Ha [Sic] ha.")
    assert [(warning["code"], warning["items"]) for warning in report.warnings] == [("unknown_name", ["Charlotte"])]


def test_options_reach_everybody(engine, runtime):
    perform(engine, runtime, options=Options("dummy", {"steps": 4}))
    assert {options["steps"] for *_, options in talked(engine)} == {4}


def test_pauses_at_the_ends_count(engine, runtime):
    audio, takes, _ = perform(engine, runtime, "[pause:1s] [Ben] One. [pause:500ms]")
    assert takes[0].start == pytest.approx(1.0, abs=0.01)
    assert audio.seconds - takes[0].end == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("script", ["", "[pause:1s]", "🎉", "[Anna]", "Anna:", "[Anna] ... [Ben] !"])
def test_a_script_without_words_is_refused_before_anything_runs(engine, runtime, script):
    with pytest.raises(InvalidRequest, match="has no words, so there is nothing to say"):
        perform(engine, runtime, script)
    assert engine.calls == []


def test_a_voice_of_another_engine_is_refused(engine, runtime):
    with pytest.raises(InvalidRequest, match='The voice came from engine "other"'):
        perform(engine, runtime, "Anna: Hi.", {"Anna": VoicePrompt("other", "x")})


def test_marks_work_in_a_plain_text(engine, runtime):
    ctx = runtime.context(5)
    audio = speech.speak(engine, "One. [pause:3s] Two. [laugh] [pause:never] Three.", None, None, ctx)
    assert [call[0] for call in talked(engine)] == ["One.", "Two. [laugh] Three."]
    assert audio.seconds > 3.0
    assert [(warning["code"], warning["items"]) for warning in ctx.report.warnings] == [
        ("unread_mark", ["[pause:never]"])
    ]


def test_codes_keep_pauses_and_speak_equals_talk_and_decode(engine, runtime, tmp_path):
    text = "[pause:1s] One. [pause:3s] Two. And a third sentence, which is longer. [pause:250ms]"
    codes = speech.talk(engine, text, None, None, runtime.context(5))
    assert [segment.silence_s for segment in codes.segments] == [1.0, 0.0, 3.0, 0.0, 0.0, 0.25]
    codes.save(tmp_path / "codes.safetensors")
    loaded = type(codes).load(tmp_path / "codes.safetensors")
    assert [segment.silence_s for segment in loaded.segments] == [1.0, 0.0, 3.0, 0.0, 0.0, 0.25]
    spoken = speech.speak(engine, text, None, None, runtime.context(5)).waveform
    for each in (codes, loaded):
        assert torch.equal(speech.decode(engine, each, runtime.context()).waveform, spoken)
