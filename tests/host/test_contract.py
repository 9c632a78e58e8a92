"""The contract suite inside ComfyUI's own model management: see contract.py for the scenarios."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from mizuoto.tests.contract.subjects import NAMES

SCRIPT = Path(__file__).with_name("contract.py")
PACK = Path(__file__).resolve().parents[2]
SCENARIOS = ["byte_by_byte", *(f"{case}[{name}]" for case in ("every_size_of_card", "every_state") for name in NAMES)]


@pytest.fixture(scope="session")
def results(host_path):
    run = subprocess.run(
        [sys.executable, str(SCRIPT), str(host_path), str(PACK)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-4000:]
    return json.loads(run.stdout.splitlines()[-1])


def test_every_scenario_is_looked_at(results):
    assert sorted(results) == sorted(SCENARIOS)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_contract(results, scenario):
    assert results[scenario] == ""
