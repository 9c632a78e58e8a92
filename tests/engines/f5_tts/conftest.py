from functools import cache

import pytest
from mizuoto.tests.engines.f5_tts import tiny


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory):
    """Name -> folder of a tiny checkpoint; only to be read."""

    @cache
    def folder(name="F5TTS_v1_Base", **values):
        made = tmp_path_factory.mktemp("f5_tts") / name
        tiny.build(made, **values)
        return made

    return folder
