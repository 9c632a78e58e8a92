"""The script for a real card runs every step here, with tiny sizes, so that time on a card is spent on figures."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from mizuoto.mizuoto_runtime.device import DeviceService
from mizuoto.tests.bench import card, gpu

SCRIPT = Path(__file__).parent / "bench" / "gpu.py"
FIELDS = {"id", "what", "ours", "other", "ratio", "bar", "holds"}
PLACES = [f"{where}-permanent" for where in ("suffix", "spread")]
RECORDED = ["G3-graph", "G4-graph", "G5-graph-tokens", "G5-graph-frames", "G2-graph-resident"]
RECORDED += [f"G2-graph-{place}" for place in PLACES]


@pytest.fixture(scope="module")
def rows():
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--tiny"], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return {row["id"]: row for row in map(json.loads, done.stdout.splitlines())}


def test_every_step_gives_rows(rows):
    assert {name.split("-")[0] for name in rows} == {f"G{number}" for number in range(9)}
    for row in rows.values():
        assert set(row) == FIELDS or set(row) == {"id", "skipped"}
        assert "skipped" in row or row["ours"] >= 0


@pytest.mark.parametrize("name", ["G5", "G6", "G7-held", "G7-released"])
def test_what_needs_no_card_to_be_judged_holds(rows, name):
    assert rows[name]["holds"] is True, rows[name]


def test_timings_are_judged_on_a_card_only(rows):
    names = "G1-floor-1", "G2-best", "G3-eager-floor", "G4-fast", "G8"
    assert all(rows[name]["holds"] is None and rows[name]["bar"] is None for name in names)


def test_placements_are_measured_beside_their_model(rows):
    names = [f"G2-{where}-{rule}" for where in ("suffix", "spread") for rule in ("demand-1", "early-1", "early-2")]
    names += [f"G2-eager-{place}" for place in PLACES]
    assert all(rows[name]["ours"] > 0 and rows[name]["other"] > 0 for name in names)


def test_our_decoder_says_what_generate_says(rows):
    pytest.importorskip("transformers")
    assert rows["G3-tokens"]["holds"] is True, rows["G3-tokens"]
    assert rows["G3-eager"]["other"] == rows["G3-static"]["other"] > 0


@pytest.mark.skipif(card.can_capture(card.CARD) and card.torch.cuda.is_available(), reason="there is a card")
@pytest.mark.parametrize("name", RECORDED)
def test_nothing_is_recorded_without_a_card(rows, name):
    assert rows[name] == {"id": name, "skipped": "eager only"}


class Repeated:
    """What a recording does, without one."""

    def __init__(self, step, generators, device):
        self.step = step

    def __call__(self):
        self.step()


class Deaf(Repeated):
    """A recording that does nothing."""

    def __call__(self):
        pass


def recorded_rows(monkeypatch, recording, *steps):
    monkeypatch.setattr(card, "can_capture", lambda device: True)
    monkeypatch.setattr(card, "CapturedStep", recording)
    bench = card.Bench(True, False, DeviceService({str(card.CARD): 1 << 34}, False))
    return {row["id"]: row for row in gpu.rows(bench, steps)}


def test_recordings_are_measured_where_they_can_be_made(monkeypatch):
    found = recorded_rows(monkeypatch, Repeated, "g2-graph", "g3", "g4", "g5-graph")
    names = [*RECORDED, "G3-record", "G3-graph-floor", "G4-record", "G4-sound", "G4-floor"]
    if "G3-tokens" not in found:
        names.remove("G3-graph")  # there is no generate to compare it with
    assert all(found[name]["ours"] > 0 for name in names)
    assert all(row.get("holds") is not False for row in found.values())
    assert found["G5-graph-frames"]["other"] > found["G5-graph-tokens"]["other"] > 1


def test_recordings_that_give_other_results_are_seen(monkeypatch):
    found = recorded_rows(monkeypatch, Deaf, "g2-graph", "g5-graph")
    assert "another output" in found["G2-GRAPH"]["what"]
    assert [found[name]["holds"] for name in ("G2-GRAPH", "G5-graph-tokens", "G5-graph-frames")] == [False] * 3


def test_a_step_that_fails_leaves_the_others_their_time(monkeypatch):
    def fails(bench):
        yield {"id": "first"}
        raise RuntimeError("no such kernel")

    monkeypatch.setitem(gpu.STEPS, "g3", fails)
    monkeypatch.setitem(gpu.STEPS, "g4", lambda bench: iter([{"id": "last"}]))
    found = list(gpu.rows(None, ["g3", "g4"]))
    assert [row["id"] for row in found] == ["first", "G3", "last"]
    assert found[1]["holds"] is False
    assert "no such kernel" in found[1]["what"]
