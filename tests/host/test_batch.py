"""`python -m mizuoto batch` against a real ComfyUI, killed and started again."""

import csv
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINES = int(os.environ.get("MIZUOTO_BATCH_LINES", "30"))  # 200 by hand
TIMEOUT_S = 60 + 3 * LINES
PROGRAM = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location("mizuoto", {str(ROOT / "__init__.py")!r},
                                              submodule_search_locations=[{str(ROOT)!r}])
sys.modules["mizuoto"] = package = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
from mizuoto.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def batch(comfy, tmp_path):
    """Starts the command on `rows` of text and seed, as a process of its own."""

    def start(folder, rows, *options):
        path = tmp_path / "lines.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("text", "seed"), *rows])
        command = [sys.executable, "-c", PROGRAM, "batch", str(path), "--output", str(folder), "--url", comfy.url]
        # A proxy of the user's must not come between us and this machine.
        environment = {**os.environ, "no_proxy": "127.0.0.1", "CUDA_VISIBLE_DEVICES": ""}
        return subprocess.Popen(
            [*command, *options], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    return start


def files(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.flac")}


def manifest(folder):
    return [json.loads(line) for line in (folder / "manifest.jsonl").read_text("utf-8").splitlines()]


def finished(folder):
    path = folder / "manifest.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_a_batch_that_is_killed_and_started_again_is_the_same_to_the_byte(comfy, batch, tmp_path):
    rows = [(f"Number {number}.", number % 7) for number in range(LINES)]
    whole, killed = tmp_path / "whole", tmp_path / "killed"

    done = batch(whole, rows)
    said, complaints = done.communicate(timeout=TIMEOUT_S)
    assert done.returncode == 0, complaints
    assert said == f"{whole}: {LINES} of {LINES} files ({LINES} made now).\n"

    taken = comfy.log().count("got prompt")
    first = batch(killed, rows)
    deadline = time.monotonic() + TIMEOUT_S
    while finished(killed) < LINES // 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    first.kill()
    first.communicate()
    there = finished(killed)
    assert LINES // 2 <= there < LINES

    done = batch(killed, rows)
    _, complaints = done.communicate(timeout=TIMEOUT_S)
    assert done.returncode == 0, complaints
    assert files(killed) == files(whole) and len(files(whole)) == LINES
    assert comfy.log().count("got prompt") - taken == LINES, "a prompt was sent twice"
    assert {path.name for path in killed.iterdir()} - set(files(whole)) == {"manifest.jsonl", ".mizuoto-batch"}
    for number, entry in enumerate(manifest(killed)):
        assert (entry["id"], entry["seed"], entry["status"]) == (str(number + 2), number % 7, "done")
        assert entry["sha256"] == hashlib.sha256(files(whole)[entry["file"]]).hexdigest()
        assert 0.3 < entry["seconds"] < 3


def test_a_line_that_the_host_refuses_is_named_and_the_rest_is_made(batch, tmp_path):
    done = batch(tmp_path / "out", [("Hello.", 1), ("...", 1), ("Goodbye.", 2)])
    said, complaints = done.communicate(timeout=TIMEOUT_S)
    assert done.returncode == 1
    assert "2 of 3 files (2 made now). 1 failed" in said
    (line,) = [line for line in complaints.splitlines() if "failed" in line]
    assert "line 3: failed: " in line and "words" in line
    assert set(files(tmp_path / "out")) == {"2.flac", "4.flac"}


def test_a_node_that_raises_is_told_in_its_own_words(batch, tmp_path):
    path = tmp_path / "api.json"
    workflow = json.loads((ROOT / "workflows/api/speak.json").read_text("utf-8"))
    workflow["2"]["inputs"]["text"] = ["9", 0]
    workflow["9"] = {"class_type": "MizuotoTestFail", "inputs": {"text": ""}}
    path.write_text(json.dumps(workflow), "utf-8")
    done = batch(tmp_path / "out", [("On fire.", 1)], "--workflow", str(path), "--map", "text=MizuotoTestFail.text",
                 "seed=2.seed")  # fmt: skip
    _, complaints = done.communicate(timeout=TIMEOUT_S)
    assert done.returncode == 1
    assert complaints == "[1/1] line 2: failed: MizuotoTestFail (node 9): On fire.\n"


def test_the_same_prompt_from_the_cache_is_fetched_all_the_same(batch, tmp_path):
    done = batch(tmp_path / "out", [("Again.", 1)] * 3)
    _, complaints = done.communicate(timeout=TIMEOUT_S)
    assert done.returncode == 0, complaints
    assert len(set(files(tmp_path / "out").values())) == 1 and len(files(tmp_path / "out")) == 3
