import inspect
import math
import re
from dataclasses import replace

import pytest
from mizuoto import engines
from mizuoto.engines import base
from mizuoto.engines.base import CanCloneVoice, CanTalk, CanTranscribe, Engine, Option
from mizuoto.mizuoto_runtime.device import DTYPES
from mizuoto.mizuoto_runtime.memory.manager import MemoryManager
from mizuoto.mizuoto_runtime.snapshot import snapshot
from mizuoto.tests.contract.card import Card
from mizuoto.tests.contract.subjects import MADE_UP, registered

TASKS = base.Task.__args__
METHODS = [
    ("tts", CanTalk.talk),
    ("tts", CanTalk.decode),
    ("clone", CanCloneVoice.voice_prompt),
    ("asr", CanTranscribe.transcribe),
]


@pytest.fixture
def manifest(subject):
    return subject.engine.manifest


@pytest.fixture(scope="module")
def on_cpu(subject):
    card, before = Card(None, MemoryManager), snapshot()
    model = card.load(subject)
    assert snapshot() == before  # S045
    return model


def parameters(function):
    return [name for name in inspect.signature(function).parameters if name != "self"]


def test_manifests_are_plausible(manifest):
    assert re.fullmatch(r"[a-z][a-z0-9_]*", manifest.id)
    assert manifest.name.strip() == manifest.name != ""
    assert manifest.tasks
    assert set(manifest.tasks) <= set(TASKS)
    assert all((manifest.code_license, manifest.weights_license, manifest.weights_source, manifest.languages))
    assert all(re.fullmatch(r"[a-z]{2,3}(-[A-Za-z0-9]+)*", tag) for tag in manifest.languages)  # BCP 47
    assert set(manifest.dtypes) <= set(DTYPES)
    assert manifest.dtypes
    assert 8000 <= manifest.sample_rate <= 48_000
    assert (manifest.max_text_size > 0) == ("tts" in manifest.tasks)
    assert manifest.measure_text("One word.") <= manifest.measure_text("One word. Two words.")
    assert len(set(manifest.voices)) == len(manifest.voices)


def test_options_are_declared_soundly(manifest):
    names = [option.name for option in manifest.options]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in names)
    assert manifest.resolve(None) == {option.name: option.default for option in manifest.options}
    for option in manifest.options:
        assert is_sound(option), option.name


def is_sound(option):
    if type(option.default) in (int, float):
        # A widget needs both ends.
        return bool(option.tooltip) and math.isfinite(option.low) and math.isfinite(option.high) and option.step > 0
    return bool(option.tooltip)


@pytest.mark.parametrize("option", [Option("a", 1.0, "x"), Option("a", 1, "", low=0, high=1), Option("a", "x", "")])
def test_unsound_options_are_seen(option):
    assert not is_sound(option)


def test_engines_have_the_protocols_shape(subject):
    assert parameters(subject.engine.load) == parameters(Engine.load)


def test_loaded_engines_have_the_protocols_shape(on_cpu):
    for task, function in METHODS:
        if task in on_cpu.manifest.tasks:
            assert parameters(getattr(on_cpu, function.__name__)) == parameters(function)
    if base.KEEP_VOICE in on_cpu.manifest.resolve(None) or isinstance(on_cpu, base.CanKeepVoice):
        assert parameters(on_cpu.voice_from) == parameters(base.CanKeepVoice.voice_from)


def test_handles_are_named_and_ready_for_use(on_cpu):  # S021, S022
    names = [handle.name for handle in on_cpu.handles]
    assert names
    assert len(set(names)) == len(names)
    for handle in on_cpu.handles:
        assert handle.name.split(":")[0].split("/")[0] == on_cpu.manifest.id
        assert not handle.module.training
        assert not any(tensor.is_meta or tensor.is_inference() for tensor in handle.module.state_dict().values())


def test_made_up_engines_are_not_registered():
    assert set(MADE_UP).isdisjoint(engines.manifests())


TINY = """
def build(folder):
    (folder / "dummy.txt").write_text("tiny")

REQUEST = {"text": "Eins. Zwei.", "options": {"steps": 1}}
"""


@pytest.mark.parametrize("has_tiny", [False, True])
def test_an_engine_without_a_checkpoint_needs_a_tiny_one(tmp_path, has_tiny):
    engine = MADE_UP["dummy"]()
    manifest = replace(engine.manifest, id="newcomer")
    if not has_tiny:
        with pytest.raises(LookupError, match=r'"newcomer".*add tests/engines/newcomer/tiny.py with build\(folder\)'):
            registered(manifest, lambda _: engine, tmp_path, tmp_path)
        return
    (tmp_path / "newcomer").mkdir()
    (tmp_path / "newcomer" / "tiny.py").write_text(TINY)
    subject = registered(manifest, lambda _: engine, tmp_path / "newcomer", tmp_path)
    assert (subject.folder / "dummy.txt").read_text() == "tiny"
    assert subject.text == "Eins. Zwei."
    assert {options.values["steps"] for _, options in subject.requests()} == {1}
