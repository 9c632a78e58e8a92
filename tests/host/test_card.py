"""What ComfyUI's own model management does with our models on a small card: see card.py for the scenarios."""

import re
from pathlib import Path

import pytest
from mizuoto.tests.host.inside import results_of

SCRIPT = Path(__file__).with_name("card.py")
SCENARIOS = re.findall(r"^def (scenario_\w+)", SCRIPT.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture(scope="session")
def results(host_path):
    return results_of(SCRIPT, host_path, timeout_s=300)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_card(results, scenario):
    assert results[scenario] == ""
