"""What is checked before an engine is asked for a voice."""

from dataclasses import replace

import pytest
import torch
from mizuoto.engines import voices
from mizuoto.engines.artifacts import VoicePrompt
from mizuoto.mizuoto_runtime.audio import Audio
from mizuoto.mizuoto_runtime.errors import InvalidRequest, Unsupported
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.mizuoto_runtime.settings import Settings
from mizuoto.tests.engines.dummy import MANIFEST, LoadedDummy

RATE = 1000


class Parrot(LoadedDummy):
    """Keeps what it was given."""

    def __init__(self, runtime):
        super().__init__(runtime)
        self.manifest = replace(MANIFEST, tasks=("tts", "clone", "design"), reference_seconds=(0.5, 3.0))

    def voice_prompt(self, reference, transcript, ctx):
        facts = {"transcript": transcript} if transcript else {}
        return VoicePrompt("dummy", "clone", {"waveform": reference.waveform}, facts)

    def design_voice(self, description, ctx):
        return VoicePrompt("dummy", "design", facts={"description": description})


@pytest.fixture
def runtime():
    return Runtime(Settings())


@pytest.fixture
def parrot(runtime):
    return Parrot(runtime)


def clone(engine, waveform, runtime, transcript=None, name=""):
    return voices.clone_voice(engine, Audio(waveform, RATE), transcript, name, runtime.context())


def test_channels_are_averaged_and_mono_is_left_alone(parrot, runtime):
    mono = torch.linspace(-0.5, 0.5, RATE)[None]
    assert torch.equal(clone(parrot, mono, runtime).tensors["waveform"], mono)
    stereo = torch.cat((mono, 0 * mono))
    assert torch.equal(clone(parrot, stereo, runtime).tensors["waveform"], mono / 2)


def test_a_voice_keeps_its_words_and_its_name(parrot, runtime):
    voice = clone(parrot, torch.ones(1, RATE), runtime, "hello", "Ann")
    assert (voice.name, voice.facts) == ("Ann", {"transcript": "hello"})
    assert clone(parrot, torch.ones(1, RATE), runtime).name == "clone"


@pytest.mark.parametrize(
    ("samples", "level", "problem"),
    [
        (400, 1.0, r"is 0\.4 s long and Dummy takes 0\.5 to 3 s"),
        (3100, 1.0, r"is 3\.1 s long"),
        (1000, 0.0, "is silent"),
        (1000, 5e-5, "is silent"),
    ],
)
def test_bad_references_are_refused(parrot, runtime, samples, level, problem):
    with pytest.raises(InvalidRequest, match=problem):
        clone(parrot, torch.full((1, samples), level), runtime)


def test_engines_that_cannot_say_so(runtime):
    with pytest.raises(Unsupported, match="clones no voices"):
        clone(LoadedDummy(runtime), torch.ones(1, RATE), runtime)
    with pytest.raises(Unsupported, match="designs no voices"):
        voices.design_voice(LoadedDummy(runtime), "old", runtime.context())


def test_a_description_needs_words(parrot, runtime):
    assert voices.design_voice(parrot, " old \n", runtime.context()).facts == {"description": "old"}
    with pytest.raises(InvalidRequest, match="description of the voice is empty"):
        voices.design_voice(parrot, " \n", runtime.context())


def test_presets_are_found_in_any_case():
    assert voices.preset_voice(MANIFEST, "LOW").name == "low"
    with pytest.raises(InvalidRequest, match=r'no voice "hihg"; it has low, high\. Did you mean "high"\?'):
        voices.preset_voice(MANIFEST, "hihg")
    with pytest.raises(InvalidRequest, match="it brings none along"):
        voices.preset_voice(replace(MANIFEST, voices=()), "low")
