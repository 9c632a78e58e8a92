"""Shared by the tests of the English front end: the shipped data and the helper modules beside the tests."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from mizuoto.mizuoto_runtime.text.english import EnglishData, EnglishG2P
from mizuoto.mizuoto_runtime.text.english.data import DATA_FOLDER


def _beside(name: str) -> ModuleType:
    # Tests are no package, so a helper module is loaded by its path.
    spec = importlib.util.spec_from_file_location(f"english_{name}", Path(__file__).parent / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def data() -> EnglishData:
    return EnglishData.read(DATA_FOLDER)


@pytest.fixture(scope="session")
def british_data() -> EnglishData:
    return EnglishData.read(DATA_FOLDER, "gb")


@pytest.fixture(scope="session")
def g2p(data) -> EnglishG2P:
    return EnglishG2P(data)


@pytest.fixture(scope="session")
def build_data() -> ModuleType:
    return _beside("build_data")


@pytest.fixture(scope="session")
def corpus() -> ModuleType:
    return _beside("corpus")
