"""What is told of a recording while it is made."""

from dataclasses import replace

import pytest
import torch
from mizuoto.engines import speech
from mizuoto.engines.base import Option, Options
from mizuoto.engines.script import Cast
from mizuoto.mizuoto_runtime.byte_cache import ByteCache
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.mizuoto_runtime.settings import Settings
from mizuoto.mizuoto_runtime.text.script import read_script, speakers_of
from mizuoto.tests.engines.dummy import MANIFEST, SAMPLE_RATE, LoadedDummy

TEXT = "The first sentence is this one. [pause:1s] The second comes after it. And the third one ends it."
SAID = ["The first sentence is this one.", "The second comes after it.", "And the third one ends it."]


class Loud(LoadedDummy):
    """Seconds of sound with silence around; every segment half as loud as the one before."""

    manifest = replace(MANIFEST, max_batch=2, options=(*MANIFEST.options, Option("batch_size", 1, "", low=1, high=2)))

    def talk_batch(self, texts, voice, options, ctx):
        return [self.talk(text, voice, options, ctx) for text in texts]

    def _waveform(self, hidden, ctx):
        part = super()._waveform(hidden, ctx).tile(1, 10)
        silence = torch.zeros(1, 400)
        loudness = 0.5 ** sum(what == "decode" for what, *_ in self.calls)
        return torch.cat([silence, loudness * part, silence], dim=1)


@pytest.fixture
def runtime():
    return Runtime(Settings())


@pytest.fixture
def engine(runtime):
    return Loud(runtime)


@pytest.fixture
def told():
    return []


def joined(told):
    return torch.cat([segment.audio.waveform for segment in told], dim=1)


def check_all_of(audio, told):
    """The segments are the recording, up to the silence behind the last."""
    samples = joined(told)
    size = samples.shape[1]
    assert torch.equal(samples, audio.waveform[:, :size])
    assert 0 < audio.waveform.shape[1] - size <= 0.1 * SAMPLE_RATE
    assert not audio.waveform[:, size:].any()


@pytest.mark.parametrize("size", [1, 2])
def test_segments_are_told_in_order_with_the_samples_of_the_recording(engine, runtime, told, size):
    options = Options("dummy", {"batch_size": size})
    audio = speech.speak(engine, TEXT, None, options, runtime.context(5, on_segment=told.append))
    assert [segment.text for segment in told] == SAID
    assert [(segment.number, segment.total, segment.speaker) for segment in told] == [
        (1, 3, ""),
        (2, 3, ""),
        (3, 3, ""),
    ]
    check_all_of(audio, told)
    assert not told[1].audio.waveform[:, :SAMPLE_RATE].any()  # the pause that the text asks for
    seconds = [segment.seconds for segment in told]
    assert seconds == sorted(seconds) and seconds[0] == pytest.approx(told[0].audio.seconds, abs=0.1)


def test_levels_are_matched_before(engine, runtime, told):
    bare = []
    engine.spoil = lambda waveform: bare.append(waveform) or waveform
    speech.speak(engine, TEXT, None, None, runtime.context(5, on_segment=told.append))
    peaks = [float(max(half.abs().max() for half in bare[2 * n : 2 * n + 2])) for n in range(3)]
    assert float(told[0].audio.waveform.abs().max()) == peaks[0]
    assert float(told[2].audio.waveform.abs().max()) > 1.5 * peaks[2]


def test_each_is_told_before_the_next_is_made(engine, runtime):
    made = []
    ctx = runtime.context(5, on_segment=lambda _: made.append(sum(what == "talk" for what, *_ in engine.calls)))
    speech.speak(engine, TEXT, None, None, ctx)
    assert made == [1, 2, 3]


def test_segments_that_were_spoken_before_are_told_too(engine, runtime, told):
    cache = ByteCache(1 << 24)
    first = speech.speak(engine, TEXT, None, None, runtime.context(5), cache)
    engine.calls.clear()
    audio = speech.speak(engine, TEXT, None, None, runtime.context(5, on_segment=told.append), cache)
    assert engine.calls == [] and torch.equal(audio.waveform, first.waveform)
    assert [segment.text for segment in told] == SAID
    check_all_of(audio, told)


def test_decoding_tells_as_well(engine, runtime, told):
    codes = speech.talk(engine, TEXT, None, None, runtime.context(5))
    audio = speech.decode(engine, codes, runtime.context(on_segment=told.append))
    assert [(segment.text, segment.total) for segment in told] == [(text, 3) for text in SAID]
    check_all_of(audio, told)


def test_speakers_are_told(engine, runtime, told):
    voices = {"Anna": None, "Ben": None}
    ctx = runtime.context(5, on_segment=told.append)
    parts = read_script("Anna: How are you today?\nBen: As always.", speakers_of(voices))
    audio, takes = speech.perform(engine, parts, Cast(None, voices), None, ctx)
    assert [(segment.speaker, segment.text) for segment in told] == [(take.speaker, take.text) for take in takes]
    check_all_of(audio, told)


def test_the_listener_changes_nothing(engine, runtime, told):
    with_one = speech.speak(engine, TEXT, None, None, runtime.context(5, on_segment=told.append))
    engine.calls.clear()
    assert torch.equal(speech.speak(engine, TEXT, None, None, runtime.context(5)).waveform, with_one.waveform)


def test_nothing_is_cut_where_nobody_listens(engine, runtime, monkeypatch):
    monkeypatch.setattr("mizuoto.engines.recording.newest", None)
    speech.speak(engine, TEXT, None, None, runtime.context(5))
