"""The contract suite inside ComfyUI's own model management: see contract.py for the scenarios."""

from pathlib import Path

import pytest
from mizuoto.tests.contract.subjects import NAMES
from mizuoto.tests.host.inside import results_of

SCRIPT = Path(__file__).with_name("contract.py")
SCENARIOS = ["byte_by_byte", *(f"{case}[{name}]" for case in ("every_size_of_card", "every_state") for name in NAMES)]


@pytest.fixture(scope="session")
def results(host_path):
    return results_of(SCRIPT, host_path, timeout_s=600)


def test_every_scenario_is_looked_at(results):
    assert sorted(results) == sorted(SCENARIOS)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_contract(results, scenario):
    assert results[scenario] == ""
