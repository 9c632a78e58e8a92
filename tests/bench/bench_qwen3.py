"""Qwen3-TTS against the upstream package: the talker's speed, the cost of a load, and memory over many prompts.

The checkpoints are random ones, of which a take seldom ends by itself: each row takes the first seed whose take lasts.
Speed is measured in one process on one thread, takes of both sides interleaved, their codes compared first. Loads have
a process each, since a peak cannot be taken back; the upstream maps weights and reads them when they are used, so the
sound of a first frame is part of a load. Both compute in float32, the checkpoint is bfloat16 as the official ones.
"""

from __future__ import annotations

import json
import runpy
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
if "mizuoto" not in sys.modules:
    runpy.run_path(str(CONFTEST))

import qwen_tts  # noqa: E402, F401 - skips the bench where it is missing
import torch  # noqa: E402
from mizuoto.tests.bench import random_qwen3  # noqa: E402
from mizuoto.tests.bench.body import best_s, row  # noqa: E402
from mizuoto.tests.bench.in_process import in_process  # noqa: E402
from mizuoto.tests.bench.qwen3_sides import PROMPTS, Ours, Theirs  # noqa: E402
from mizuoto.tests.engines.qwen3_tts import oracle, tiny  # noqa: E402

FRAMES = {"tiny": 50, "middle": 16}
ROUNDS = {"tiny": 12, "middle": 5}
MIN_SPEEDUP = {"tiny": 2.5, "middle": 1.3}
SEEDS = 100
LARGE, LOADS = "0.6B", 5
MAX_LOAD_TIME, MAX_LOAD_PEAK, MAX_GROWTH = 1.0, 0.6, 1.01


def rate_row(name: str, what: str, ours: float, other: float, bar: float | None = None) -> dict:
    """A row of rates, of which more is better; one without a bar is for information."""
    ratio = ours / other
    return {"id": name, "what": what, "ours": ours, "other": other, "ratio": ratio, "bar": bar,
            "holds": bar is None or ratio >= bar}  # fmt: skip


def lasting_seed(take: Callable[[int], torch.Tensor], frames: int) -> int:
    """The first seed with which a take is `frames` long."""
    return next(seed for seed in range(SEEDS) if len(take(seed)) == frames)


@torch.inference_mode()
def speed_rows(name: str, folder: Path) -> list[dict]:
    """Frames a second of one checkpoint: exact against the upstream, and fast against exact."""
    frames = FRAMES[name]
    with torch.inference_mode(False):
        ours, theirs = Ours(folder), Theirs(folder, oracle.load.__wrapped__)
    seed = lasting_seed(lambda seed: ours.codes(seed, frames), frames)
    if not torch.equal(ours.codes(seed, frames), theirs.codes(seed, frames)):
        raise AssertionError(f"other codes than the upstream's from the {name} checkpoint")
    fast_seed = lasting_seed(lambda seed: ours.codes(seed, frames, "fast"), frames)
    takes = {
        "ours": lambda: ours.codes(seed, frames),
        "theirs": lambda: theirs.codes(seed, frames),
        "fast": lambda: ours.codes(fast_seed, frames, "fast"),
    }
    rates = {kind: frames / seconds for kind, seconds in best_s(takes, ROUNDS[name]).items()}
    what = f"talker frames a second, {name} checkpoint, {frames} frames"
    return [
        rate_row(f"qwen3-{name}", f"{what}, against qwen-tts", rates["ours"], rates["theirs"], MIN_SPEEDUP[name]),
        rate_row(f"qwen3-{name}-fast", f"{what}, fast on the CPU, against exact", rates["fast"], rates["ours"]),
    ]


def load_rows(folder: Path) -> Iterable[dict]:
    """Time and memory from nothing to the first frame's sound, each side in processes of its own, interleaved."""
    rounds = [
        {side: in_process("qwen3_sides.py", "load", side, folder) for side in ("ours", "theirs")} for _ in range(LOADS)
    ]
    if len({(found["samples"], found["loudness"]) for one in rounds for found in one.values()}) > 1:
        raise AssertionError("the first frame sounds otherwise than upstream")
    for field, what, scale, bar in (
        ("seconds", "CPU s to load {} GB and hear the first frame, against qwen-tts", 1.0, MAX_LOAD_TIME),
        ("peak", "GB added at the peak of it", 1e9, MAX_LOAD_PEAK),
    ):
        least = {side: min(one[side][field] for one in rounds) / scale for side in ("ours", "theirs")}
        middle = {side: statistics.median(one[side][field] for one in rounds) / scale for side in ("ours", "theirs")}
        gigabytes = sum(path.stat().st_size for path in folder.rglob("*.safetensors")) / 1e9
        what = f"{what.format(f'{gigabytes:.1f}')} (medians {middle['ours']:.3g}, {middle['theirs']:.3g})"
        yield row(f"qwen3-load-{field}", what, least["ours"], least["theirs"], bar)


def growth_row(folder: Path) -> dict:
    """Resident memory over prompts of varied length."""
    found = in_process("qwen3_sides.py", "growth", folder)
    what = f"MB at the end of {PROMPTS} prompts of varied length, against their beginning"
    return row("qwen3-growth", what, found["late"] / 1e6, found["early"] / 1e6, MAX_GROWTH)


def run() -> Iterable[dict]:
    """All rows."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="mizuoto-bench-") as place:
        folders = {name: Path(place) / name for name in (*MIN_SPEEDUP, LARGE)}
        tiny.build(folders["tiny"], random_qwen3.KIND)
        yield from speed_rows("tiny", folders["tiny"])
        in_process("random_qwen3.py", folders["middle"], "middle", "float32")
        yield from speed_rows("middle", folders["middle"])
        if not Path("/proc/self/clear_refs").exists():
            yield {"id": "qwen3-load", "skipped": "/proc"}
            return
        yield growth_row(folders["tiny"])
        in_process("random_qwen3.py", folders[LARGE], LARGE, "bfloat16")
        yield from load_rows(folders[LARGE])


if __name__ == "__main__":
    for found in run():
        print(json.dumps(found))
