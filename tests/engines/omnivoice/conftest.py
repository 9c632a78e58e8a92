from pathlib import Path

import pytest
from mizuoto.tests import oracles5
from mizuoto.tests.engines.omnivoice import cases, models, tiny


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory):
    """Folder of a tiny checkpoint; only to be read."""
    folder = tmp_path_factory.mktemp("omnivoice") / "tiny"
    tiny.build(folder)
    return folder


@pytest.fixture(scope="session")
def model(checkpoint):
    """It, loaded."""
    return models.load(checkpoint)


@pytest.fixture(scope="session")
def upstream(checkpoint):
    """Name of a case -> what the upstream made of it, by name."""
    tensors, asked = cases.request()
    answer = oracles5.run(Path(__file__).parent / "upstream.py", tensors, checkpoint=str(checkpoint), cases=asked)
    found = {name: {} for name in asked}
    for key, tensor in answer.items():
        name, _, what = key.partition("/")
        found[name][what] = tensor
    return found
