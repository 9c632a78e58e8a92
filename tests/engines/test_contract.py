import inspect
import math
import re

import pytest
import torch
from mizuoto import engines
from mizuoto.engines import base
from mizuoto.engines.base import Engine, LoadedEngine, LoadSpec, Option
from mizuoto.mizuoto_runtime.device import CPU, DTYPES
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.mizuoto_runtime.settings import Settings
from mizuoto.mizuoto_runtime.snapshot import snapshot
from mizuoto.tests.engines.dummy import MANIFEST as DUMMY
from mizuoto.tests.engines.dummy import DummyEngine

TASKS = base.Task.__args__
ENGINES = {**{name: engines.engine(name) for name in engines.manifests()}, "dummy": DummyEngine()}
LOADABLE = [name for name, found in ENGINES.items() if found.manifest.built_in is not None or name == "dummy"]


@pytest.fixture(params=ENGINES)
def manifest(request):
    return ENGINES[request.param].manifest


@pytest.fixture(scope="module", params=LOADABLE)
def loaded(request):
    engine, before = ENGINES[request.param], snapshot()
    spec = LoadSpec(request.param, engine.manifest.built_in, CPU, torch.float32)
    model = engine.load(spec, Runtime(Settings()))
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
    assert manifest.max_text_size > 0
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


@pytest.mark.parametrize("name", ENGINES)
def test_engines_have_the_protocols_shape(name):
    assert parameters(ENGINES[name].load) == parameters(Engine.load)


def test_loaded_engines_have_the_protocols_shape(loaded):
    for method in ("talk", "decode"):
        assert parameters(getattr(loaded, method)) == parameters(getattr(LoadedEngine, method))
    if "clone" in loaded.manifest.tasks:
        assert parameters(loaded.voice_prompt) == parameters(base.CanCloneVoice.voice_prompt)


def test_handles_are_named_and_ready_for_use(loaded):  # S021, S022
    names = [handle.name for handle in loaded.handles]
    assert names
    assert len(set(names)) == len(names)
    for handle in loaded.handles:
        assert handle.name.split(":")[0].split("/")[0] == loaded.manifest.id
        assert not handle.module.training
        assert not any(tensor.is_meta or tensor.is_inference() for tensor in handle.module.state_dict().values())


def test_the_dummy_is_no_registered_engine():
    assert DUMMY.id not in engines.manifests()
