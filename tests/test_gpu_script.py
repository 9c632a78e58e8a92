"""The script for a real card runs every step here, with tiny sizes, so that time on a card is spent on figures."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "bench" / "gpu.py"
FIELDS = {"id", "what", "ours", "other", "ratio", "bar", "holds"}


@pytest.fixture(scope="module")
def rows():
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--tiny"], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return {row["id"]: row for row in map(json.loads, done.stdout.splitlines())}


def test_every_step_gives_rows(rows):
    assert {name.split("-")[0] for name in rows} == {"G0", "G1", "G2", "G5", "G6", "G7", "G8"}
    for row in rows.values():
        assert set(row) == FIELDS or set(row) == {"id", "skipped"}
        assert "skipped" in row or row["ours"] >= 0


@pytest.mark.parametrize("name", ["G5", "G6", "G7-held", "G7-released"])
def test_what_needs_no_card_to_be_judged_holds(rows, name):
    assert rows[name]["holds"] is True, rows[name]


def test_timings_are_judged_on_a_card_only(rows):
    assert all(rows[name]["holds"] is None and rows[name]["bar"] is None for name in ("G1-floor-1", "G2-best", "G8"))


def test_placements_are_measured_beside_their_model(rows):
    names = [f"G2-{where}-{rule}" for where in ("suffix", "spread") for rule in ("demand-1", "early-1", "early-2")]
    assert all(rows[name]["ours"] > 0 and rows[name]["other"] > 0 for name in names)
