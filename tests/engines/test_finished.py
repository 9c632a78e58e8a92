from dataclasses import replace

import pytest
import torch
from mizuoto.engines import speech
from mizuoto.engines.artifacts import VoicePrompt
from mizuoto.engines.base import Options
from mizuoto.mizuoto_runtime.byte_cache import ByteCache
from mizuoto.mizuoto_runtime.errors import NothingToSay
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.mizuoto_runtime.settings import Settings
from mizuoto.tests.engines.dummy import LoadedDummy

TEXT = "The first sentence is this one. The second comes after it. And the third one ends it."
VOICE = VoicePrompt("dummy", "clone", {"timbre": torch.arange(4.0)})


@pytest.fixture
def runtime():
    return Runtime(Settings())


@pytest.fixture
def engine(runtime):
    return LoadedDummy(runtime)


@pytest.fixture
def cache():
    return ByteCache(1 << 20)


def speak(engine, runtime, cache, text=TEXT, voice=None, seed=5, **options):
    """(samples, texts that were really spoken, what the report says of cached segments)."""
    engine.calls.clear()
    ctx = runtime.context(seed)
    audio = speech.speak(engine, text, voice, Options("dummy", options), ctx, cache)
    return (
        audio.waveform,
        [call[1] for call in engine.calls if call[0] == "talk"],
        ctx.report.applied.get("cached_segments"),
    )


def test_only_what_changed_is_spoken_again_with_the_same_samples(engine, runtime, cache):
    first, said, cached = speak(engine, runtime, cache)
    assert (len(said), cached) == (3, None)
    again, said, cached = speak(engine, runtime, cache)
    assert (said, cached) == ([], 3)
    assert torch.equal(again, first)
    changed = TEXT.replace("The second comes", "The other comes")
    found, said, cached = speak(engine, runtime, cache, changed)
    assert (said, cached) == (["The other comes after it."], 2)
    assert torch.equal(found, speak(engine, runtime, None, changed)[0])


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 6},
        {"gain": 0.25},
        {"voice": VoicePrompt("dummy", "high")},
        {"voice": replace(VOICE, facts={"a": "b"})},
        {"voice": replace(VOICE, tensors={"timbre": torch.arange(4.0) + 1})},
    ],
)
def test_everything_that_matters_is_in_the_key(engine, runtime, cache, other):
    speak(engine, runtime, cache, voice=VOICE)
    _, said, cached = speak(engine, runtime, cache, **{"voice": VOICE, **other})
    assert (len(said), cached) == (3, None)


def test_an_equal_voice_is_the_same_voice(engine, runtime, cache):
    speak(engine, runtime, cache, voice=VOICE)
    copy = VoicePrompt("dummy", "clone", {"timbre": torch.arange(4.0)})
    assert speak(engine, runtime, cache, voice=copy)[1:] == ([], 3)


def test_a_full_cache_forgets_and_stays_right(engine, runtime):
    expected = speak(engine, runtime, None)[0]
    room = expected.nbytes // 3 + 1000
    cache = ByteCache(room)
    for _ in range(3):
        assert torch.equal(speak(engine, runtime, cache)[0], expected)
        assert 0 < cache.num_bytes <= room


def test_what_could_not_be_said_is_asked_for_again(engine, runtime, cache):
    said = engine.talk

    def talk(text, *rest):
        if text.startswith("And"):
            engine.calls.append(("talk", text))
            raise NothingToSay(text)
        return said(text, *rest)

    engine.talk = talk
    for _ in range(2):
        ctx = runtime.context(5)
        engine.calls.clear()
        speech.speak(engine, TEXT, None, None, ctx, cache)
        assert ctx.report.warnings[0]["code"] == "left_out"
    assert [call[1] for call in engine.calls if call[0] == "talk"] == ["And the third one ends it."]


def test_cached_sound_is_not_changed_by_what_is_made_of_it(engine, runtime, cache):
    first, *_ = speak(engine, runtime, cache, "One.")
    kept = first.clone()
    first.zero_()
    assert torch.equal(speak(engine, runtime, cache, "One.")[0], kept)
