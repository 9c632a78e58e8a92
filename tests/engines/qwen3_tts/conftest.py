from functools import cache

import pytest
from mizuoto.tests.engines.qwen3_tts import tiny


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory):
    """(kind, size) -> folder of a tiny checkpoint; only to be read."""

    @cache
    def folder(kind, size="1b7"):
        made = tmp_path_factory.mktemp("qwen3_tts") / f"{kind}-{size}"
        tiny.build(made, kind, size=size)
        return made

    return folder
