"""What the nodes cost beside their work: in ComfyUI's executor, in its schema calls, at import (MEMORY C9, C11)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from mizuoto.tests.host.local import link_folder, unlink_folder

ROOT = Path(__file__).resolve().parents[2]
HOST_TESTS = ROOT / "tests" / "host"
ROUNDS, REPEATS = 200, 3
MAX_OVERHEAD_MS, MAX_SCHEMA_US, MAX_IMPORT_S = 0.5, 50.0, 0.15
HEAVY = ("transformers", "scipy", "torchaudio", "onnxruntime", "accelerate", "diffusers")
# Everything of the pack but the nodes, which need ComfyUI; printed: seconds beyond torch, and what came along.
IMPORT = f"""
import json, sys, time, types
import torch, numpy, safetensors.torch
start = time.process_time()
sys.modules["mizuoto"] = types.ModuleType("mizuoto")
sys.modules["mizuoto"].__path__ = [{str(ROOT)!r}]
import mizuoto.engines.speech, mizuoto.mizuoto_runtime.runtime, mizuoto.engines.hibari.engine
print(json.dumps([time.process_time() - start, [name for name in {HEAVY!r} if name in sys.modules]]))
"""


def run() -> Iterable[dict[str, object]]:
    """The rows; minima over `REPEATS` processes, since the machine may have neighbours."""
    measured = [_executor() for _ in range(REPEATS)]
    overheads = [1e3 * (one["speak_s"] - one["trivial_s"]) for one in measured]
    best = min(range(REPEATS), key=overheads.__getitem__)
    yield _row(
        "C9-prompt",
        "ms a prompt: Speak with a dummy engine against a node with its sockets that does nothing",
        measured[best]["speak_s"] * 1e3,
        measured[best]["trivial_s"] * 1e3,
        overheads[best],
        MAX_OVERHEAD_MS,
    )
    schema_us = min(one["schema_s"] for one in measured) * 1e6
    yield _row("C9-schema", "us a call of the dearest define_schema", schema_us, None, schema_us, MAX_SCHEMA_US)
    import_s = min(one["import_s"] for one in measured)
    yield _row("C11-host", "s to import the pack inside ComfyUI", import_s, None, import_s, MAX_IMPORT_S)
    alone = [_import_alone() for _ in range(REPEATS)]
    brought = sorted({name for _, names in alone for name in names})
    seconds = min(seconds for seconds, _ in alone)
    row = _row(
        "C11",
        f"s to import runtime and engine beyond torch; heavy: {brought or 'none'}",
        seconds,
        None,
        seconds,
        MAX_IMPORT_S,
    )
    yield row | {"holds": row["holds"] and not brought}


def _row(name: str, what: str, ours: float, other: float | None, value: float, bar: float) -> dict[str, object]:
    return {"id": name, "what": what, "ours": ours, "other": other, "ratio": value, "bar": bar, "holds": value <= bar}


def _executor() -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="mizuoto-bench-") as folder:
        links = {"ComfyUI-Mizuoto": ROOT, "test_nodes": HOST_TESTS / "test_nodes"}
        for name, target in links.items():
            link_folder(target, Path(folder) / name)
        try:
            command = [sys.executable, str(HOST_TESTS / "executor.py"), os.environ["COMFYUI_PATH"], folder, str(ROUNDS)]
            return json.loads(_output(command))
        finally:
            for name in links:
                unlink_folder(Path(folder) / name)


def _import_alone() -> tuple[float, list[str]]:
    seconds, heavy = json.loads(_output([sys.executable, "-c", IMPORT]))
    return seconds, heavy


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return done.stdout.splitlines()[-1]
