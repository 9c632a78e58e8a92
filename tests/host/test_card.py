"""What ComfyUI's own model management does with our models on a small card: see card.py for the scenarios."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("card.py")
PACK = Path(__file__).resolve().parents[2]
SCENARIOS = re.findall(r"^def (scenario_\w+)", SCRIPT.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture(scope="session")
def results(host_path):
    run = subprocess.run(
        [sys.executable, str(SCRIPT), str(host_path), str(PACK)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-4000:]
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_card(results, scenario):
    assert results[scenario] == ""
