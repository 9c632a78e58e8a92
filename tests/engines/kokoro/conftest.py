import pytest
import torch
from mizuoto.engines.base import LoadSpec
from mizuoto.engines.kokoro.engine import ENGINE
from mizuoto.mizuoto_runtime.device import CPU
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.tests.engines.kokoro import real, tiny


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory):
    """A tiny checkpoint; only to be read."""
    folder = tmp_path_factory.mktemp("kokoro")
    tiny.build(folder)
    return folder


@pytest.fixture(scope="session")
def real_folder(tmp_path_factory):
    """The real weights with two voices; only to be read."""
    folder = tmp_path_factory.mktemp("kokoro_82m")
    real.build(folder)
    return folder


@pytest.fixture(scope="session")
def load():
    """(folder, runtime, device) -> the loaded engine."""

    def loaded(folder, runtime=None, device=CPU):
        return ENGINE.load(LoadSpec("kokoro", folder, device, torch.float32), runtime or Runtime())

    return loaded


@pytest.fixture(scope="module")
def model(load, tiny_folder):
    return load(tiny_folder)


@pytest.fixture
def ctx():
    return Runtime().context(0)


@pytest.fixture
def options():
    """(chosen values) -> all of them, as a request gives them."""
    manifest = ENGINE.manifest
    return lambda **chosen: {option.name: option.default for option in manifest.options} | chosen
