"""A Qwen3-TTS checkpoint of real size in a real ComfyUI: `python big_qwen3.py [0.6B|middle]` prints JSON rows.

It is written (2.5 GB, random, bfloat16), says two seconds on the CPU, and says them again streamed through a simulated
card of 1 GB with `vram_mode` none; the codes must be equal. Takes minutes, and so is no part of `dev.py bench`; the
folder of the ComfyUI is in COMFYUI_PATH.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
if "mizuoto" not in sys.modules:
    runpy.run_path(str(ROOT / "tests" / "conftest.py"))

import torch  # noqa: E402
from mizuoto.tests.bench.random_qwen3 import SIZES, build  # noqa: E402
from mizuoto.tests.host.comfy import Comfy, Run  # noqa: E402
from mizuoto.tests.host.graphs import load, node, report, save, show, sound  # noqa: E402

NAME, TEXT, SEED, SECONDS, FRAMES = "random", "The cat sat on the mat and then it ran away.", 0, 2.0, 25
CARD_MB, MAX_PEAK_GB, TIMEOUT_S = 1024, 24.0, 3600.0
PACKS = {"ComfyUI-Mizuoto": ROOT, "card": Path(__file__).resolve().parent / "card_pack"}


def said() -> dict[str, Any]:
    """Two seconds in phases, with the codes shown and the sound saved."""
    options = node("options", "MizuotoQwen3TtsOptions", max_seconds=SECONDS, stop_loops=False)
    talker = {"model": ["load", 0], "text": TEXT, "seed": SEED, "options": ["options", 0]}
    return (
        load(NAME) | options | node("talk", "MizuotoTalker", **talker)
        | node("decode", "MizuotoCodecDecoder", model=["load", 0], codes=["talk", 0])
        | node("codes", "MizuotoBenchCodes", codes=["talk", 0])
        | save(["decode", 0]) | show(["codes", 0])
    )  # fmt: skip


def facts_of(comfy: Comfy, run: Run) -> dict[str, Any]:
    """What a take cost and what it said."""
    talk, decode = report(run, "talk"), report(run, "decode")
    facts = json.loads(run.texts()[0])
    samples = sound(comfy, run)
    return {
        **facts,
        "seconds": run.seconds,
        "talk_s": talk["timings_ms"]["total"] / 1e3,
        "decode_s": decode["timings_ms"]["total"] / 1e3,
        "device": talk["device"],
        "dtype": talk["dtype"],
        "memory_mb": talk["memory"] | decode["memory"],
        "peak_gb": peak_bytes(comfy.pid) / 1e9,
        "samples": samples.size,
        "loudest": int(abs(samples.astype(int)).max()),
    }


def peak_bytes(pid: int) -> int:
    """Most resident memory that a process had (Linux)."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) << 10


def spoken(folder: Path, card_mb: int = 0) -> dict[str, Any]:
    """A take in a ComfyUI of its own."""
    env = {"MIZUOTO_VRAM_MODE": "none"} if card_mb else {}
    env |= {"OMP_NUM_THREADS": "1"}
    links = {f"models/tts/{NAME}": folder}
    with Comfy(Path(os.environ["COMFYUI_PATH"]), packs=PACKS, links=links, env=env) as comfy:
        if card_mb:
            comfy.run(node("card", "MizuotoBenchCard", size_mb=card_mb) | show(["card", 0]))
        return facts_of(comfy, comfy.run(said(), TIMEOUT_S))


def rows(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """Both takes, and whether they say the same."""
    plain = spoken(folder)
    yield {"id": f"qwen3-{name}-cpu", **plain, "holds": plain["frames"] == FRAMES and plain["peak_gb"] <= MAX_PEAK_GB}
    card = spoken(folder, CARD_MB)
    is_equal = all(card[key] == plain[key] for key in ("frames", "sha256", "samples", "loudest"))
    yield {"id": f"qwen3-{name}-card", **card, "card_mb": CARD_MB,
           "holds": is_equal and card["card_peak"] <= CARD_MB << 20}  # fmt: skip


def main(name: str) -> int:
    """Print the rows; 1 if one does not hold."""
    good = True
    with tempfile.TemporaryDirectory(prefix="mizuoto-bench-") as place:
        folder = Path(place) / NAME
        build(folder, SIZES[name], torch.bfloat16)
        for row in rows(folder, name):
            print(json.dumps(row), flush=True)
            good = good and row["holds"]
    return 0 if good else 1


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(main(*(sys.argv[1:] or ["0.6B"])))
