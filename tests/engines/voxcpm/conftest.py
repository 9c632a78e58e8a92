from functools import cache

import pytest
from mizuoto.tests.engines.voxcpm import tiny


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory):
    """kind -> folder of a tiny checkpoint; only to be read."""

    @cache
    def folder(kind):
        made = tmp_path_factory.mktemp("voxcpm") / kind
        tiny.build(made, kind)
        return made

    return folder
