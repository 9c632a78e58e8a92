from functools import cache

import pytest
from mizuoto.mizuoto_runtime.memory.manager import MemoryManager
from mizuoto.tests.contract import subjects
from mizuoto.tests.contract.card import Card, Shares


@pytest.fixture(scope="session")
def find(tmp_path_factory):
    """Name of an engine -> its subject."""
    return cache(lambda name: subjects.find(name, tmp_path_factory.mktemp("checkpoints")))


@pytest.fixture(scope="session")
def expected(find):
    """(name, number of a request, briefly) -> its outputs on the plain CPU."""

    @cache
    def model(name):
        card = Card(None, MemoryManager)
        return card, card.load(find(name))

    @cache
    def outputs(name, number=0, briefly=False):
        card, loaded = model(name)
        subject = find(name).briefly() if briefly else find(name)
        return card.run(subject, loaded, subject.requests()[number])[0]

    return outputs


@pytest.fixture(scope="module", params=subjects.NAMES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def subject(find, name):
    return find(name)


@pytest.fixture(scope="module")
def loaded(subject):
    """(a card where every handle gets its share, the model there)."""
    card = Card(manager=Shares)
    return card, card.load(subject)
