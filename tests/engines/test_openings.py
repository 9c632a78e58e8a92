"""Engines that invent a voice where none is given: a text keeps the voice of its first segment."""

from dataclasses import replace

import pytest
import torch
from mizuoto.engines import speech
from mizuoto.engines.artifacts import VoicePrompt
from mizuoto.engines.base import Option, Options
from mizuoto.mizuoto_runtime.byte_cache import ByteCache
from mizuoto.mizuoto_runtime.errors import NothingToSay
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.tests.engines.dummy import MANIFEST, LoadedDummy

TEXT = "The first sentence is this one. The second comes after it. And the third one ends it."
ONE, TWO, THREE = TEXT[:31], TEXT[32:58], TEXT[59:]
CLONE = VoicePrompt("dummy", "clone", {"timbre": torch.arange(4.0)})
DESIGNED = VoicePrompt("dummy", "an old man", facts={"description": "an old man"})


class Inventor(LoadedDummy):
    """Sounds like the length of the first text that was said in the voice."""

    manifest = replace(MANIFEST, options=(*MANIFEST.options, Option("keep_voice", True, "Keep it.")))

    def talk(self, text, voice, options, ctx):
        codes = super().talk(text, voice, options, ctx)
        tone = voice.tensors["tone"] if voice and "tone" in voice.tensors else torch.tensor(float(len(text)))
        segment = codes.segments[0]
        tensors = {"hidden": segment.tensors["hidden"] + 0.01 * tone, "tone": tone}
        return replace(codes, segments=(replace(segment, tensors=tensors),))

    def voice_from(self, codes, voice, options):
        return VoicePrompt("dummy", "invented", {"tone": codes.segments[0].tensors["tone"]})


@pytest.fixture
def runtime():
    return Runtime()


@pytest.fixture
def engine(runtime):
    return Inventor(runtime)


def said(engine):
    """(text, tone of the voice or its name) of every call so far."""
    calls = [(call[1], call[4]) for call in engine.calls if call[0] == "talk"]
    engine.calls.clear()
    return [(text, voice and int(voice.tensors.get("tone", -1))) for text, voice in calls]


def test_the_first_segment_lends_its_voice_and_is_said_once(engine, runtime):
    codes = speech.talk(engine, TEXT, None, None, runtime.context(5))
    assert said(engine) == [(ONE, None), (TWO, len(ONE)), (THREE, len(ONE))]
    spoken = speech.speak(engine, TEXT, None, None, runtime.context(5)).waveform
    assert torch.equal(speech.decode(engine, codes, runtime.context()).waveform, spoken)


def test_a_single_segment_and_given_voices_are_left_alone(engine, runtime):
    def talk(text, voice=None, keep=True):
        speech.talk(engine, text, voice, Options("dummy", {"keep_voice": keep}), runtime.context(5))
        return [tone for _, tone in said(engine)]

    assert talk(ONE) == [None]
    assert talk(TEXT, keep=False) == [None] * 3
    assert talk(TEXT, CLONE) == [-1] * 3
    assert talk(TEXT, DESIGNED) == [-1, len(ONE), len(ONE)]  # words about a voice are no voice


def test_without_an_option_the_voice_is_kept(engine, runtime):
    engine.manifest = MANIFEST
    speech.talk(engine, TEXT, None, None, runtime.context(5))
    assert said(engine) == [(ONE, None), (TWO, len(ONE)), (THREE, len(ONE))]


def test_every_text_and_every_speaker_has_an_opening(engine, runtime):
    speech.talk_list(engine, [(f"{ONE} {TWO}", 1), (f"{TWO} {ONE}", 2)], None, None, runtime.context())
    assert [tone for _, tone in said(engine)] == [None, len(ONE), None, len(TWO)]


def test_finished_segments_go_by_their_opening(engine, runtime):
    cache = ByteCache(1 << 20)

    def speak(text):
        return speech.speak(engine, text, None, None, runtime.context(5), cache).waveform

    speak(TEXT)
    said(engine)
    speak(TEXT)
    assert said(engine) == []
    changed = f"{ONE} {TWO} And another one ends it."
    found = speak(changed)
    assert [text for text, _ in said(engine)] == ["And another one ends it.", ONE][::-1]  # its voice is asked for again
    assert torch.equal(found, speech.speak(engine, changed, None, None, runtime.context(5)).waveform)
    said(engine)
    speak(f"A new first sentence is this one. {TWO} {THREE}")
    assert len(said(engine)) == 3


def test_an_opening_that_cannot_be_said_lends_nothing(engine, runtime):
    talk = engine.talk

    def refusing(text, *rest):
        if text == ONE:
            raise NothingToSay("This model cannot say it; write something else.")
        return talk(text, *rest)

    engine.talk = refusing
    speech.talk(engine, TEXT, None, None, runtime.context(5))
    assert said(engine) == [(TWO, None), (THREE, None)]
