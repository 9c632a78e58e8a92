from functools import cache

import pytest
from mizuoto.tests.engines.qwen3_asr import tiny


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory):
    """Arguments of `tiny.build` -> folder of that checkpoint; only to be read."""

    @cache
    def folder(**arguments):
        made = tmp_path_factory.mktemp("qwen3_asr") / "tiny"
        tiny.build(made, **arguments)
        return made

    return folder
