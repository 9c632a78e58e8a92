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
MAX_OVERHEAD_MS, MAX_SCHEMA_US, MAX_COLD_SCHEMA_MS, MAX_IMPORT_S = 0.5, 50.0, 10.0, 0.15
FOLDERS = 20
CODEC_FILES = ("config.json", "configuration.json", "model.safetensors", "preprocessor_config.json")
MODEL_FILES = (
    *CODEC_FILES, "README.md", "generation_config.json", "merges.txt", "special_tokens_map.json", "tokenizer.json",
    "tokenizer_config.json", "vocab.json",
)  # fmt: skip
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
        "ms a prompt: Speak with a dummy engine against a node with its sockets that does nothing; "
        f"the bar is for the difference, {overheads[best]:.3f} ms",
        measured[best]["speak_s"] * 1e3,
        measured[best]["trivial_s"] * 1e3,
        overheads[best],
        MAX_OVERHEAD_MS,
    )
    schema_us = min(one["schema_s"] for one in measured) * 1e6
    yield _row("C9-schema", "us a call of the dearest define_schema", schema_us, None, schema_us, MAX_SCHEMA_US)
    cold_ms = min(one["cold_schema_s"] for one in measured) * 1e3
    yield _row(
        "C9-schema-cold",
        f"ms of one define_schema of Load Speech Model that looks through {FOLDERS} folders in models/tts",
        cold_ms,
        None,
        cold_ms,
        MAX_COLD_SCHEMA_MS,
    )
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
    """A row whose bar is an upper limit of `value`, which is `ours` unless `what` says otherwise."""
    ratio = ours / other if other else None
    return {"id": name, "what": what, "ours": ours, "other": other, "ratio": ratio, "bar": bar, "holds": value <= bar}


def _executor() -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="mizuoto-bench-") as folder:
        links = {"ComfyUI-Mizuoto": ROOT, "test_nodes": HOST_TESTS / "test_nodes"}
        for name, target in links.items():
            link_folder(target, Path(folder) / name)
        try:
            _fill_models(Path(folder) / "models" / "tts")
            command = [sys.executable, str(HOST_TESTS / "executor.py"), os.environ["COMFYUI_PATH"], folder, str(ROUNDS)]
            return json.loads(_output(command))
        finally:
            for name in links:
                unlink_folder(Path(folder) / name)


def _fill_models(root: Path) -> None:
    """Folders as publishers offer them, each with a codec's folder inside; every fourth is one the pack can load."""
    for index in range(FOLDERS):
        folder = root / f"model-{index:02}"
        for part, files in ((folder, MODEL_FILES), (folder / "speech_tokenizer", CODEC_FILES)):
            part.mkdir(parents=True)
            for name in files:
                (part / name).touch()
        if index % 4 == 0:
            (folder / "hibari_voice.safetensors").touch()


def _import_alone() -> tuple[float, list[str]]:
    seconds, heavy = json.loads(_output([sys.executable, "-c", IMPORT]))
    return seconds, heavy


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return done.stdout.splitlines()[-1]
