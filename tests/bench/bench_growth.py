"""Resident memory of a process that loads, speaks twenty times and unloads (MEMORY C13)."""

from __future__ import annotations

import ctypes
import gc
import json
import runpy
import sys
from collections.abc import Iterable
from pathlib import Path

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
if "mizuoto" not in sys.modules:
    runpy.run_path(str(CONFTEST))

import torch  # noqa: E402
from mizuoto.engines import speech  # noqa: E402
from mizuoto.mizuoto_runtime.device import CPU, DeviceService  # noqa: E402
from mizuoto.mizuoto_runtime.runtime import Runtime  # noqa: E402
from mizuoto.mizuoto_runtime.settings import Settings  # noqa: E402
from mizuoto.tests.bench.bench_equality import loaded  # noqa: E402
from mizuoto.tests.bench.in_process import in_process  # noqa: E402

MAX_GROWTH = 1.01
REQUESTS, WARM_REQUESTS = 20, 4
CARD = torch.device("cuda", 0)
CARD_BYTES = 24 << 20  # less than the voice, which therefore streams
TEXTS = (
    "One voice.",
    "The quick brown fox jumps over the lazy dog.",
    "Please call me tomorrow morning.",
    "Yes, twice.",
)


def resident_bytes() -> int:
    """Memory of this process after everything that can be given back was."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim:
        trim(0)
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) << 10


def round_trip(on_card: bool, requests: int) -> list[int]:
    """Load, speak, unload; memory after every request."""
    devices = DeviceService({str(CARD): CARD_BYTES} if on_card else None)
    runtime = Runtime(Settings(vram_reserve_mb=0), devices)
    model = runtime.model("bench", "hibari", lambda: loaded("hibari", CARD if on_card else CPU, runtime))
    found = []
    for number in range(requests):
        speech.speak(model.engine, TEXTS[number % len(TEXTS)], None, None, runtime.context(number))
        found.append(resident_bytes())
    runtime.release()
    return found


def measure(on_card: bool) -> dict[str, int]:
    """Memory before, while speaking and after, once a round trip has brought in what stays: tables, kernels, arenas."""
    round_trip(on_card, WARM_REQUESTS)
    before = resident_bytes()
    during = round_trip(on_card, REQUESTS)
    return {"before": before, "early": max(during[: REQUESTS // 4]), "late": max(during[-REQUESTS // 4 :]),
            "after": resident_bytes()}  # fmt: skip


def run() -> Iterable[dict]:
    """Two rows for the plain CPU, two for a card on which the voice streams."""
    if not Path("/proc/self/status").exists():
        yield {"id": "C13", "skipped": "/proc"}
        return
    for name, on_card in (("cpu", False), ("card", True)):
        found = in_process("bench_growth.py", int(on_card))
        for part, what, now, then in (
            ("unloaded", f"MB after load, {REQUESTS} requests and unload, against before", "after", "before"),
            ("requests", f"MB at the end of {REQUESTS} requests, against their beginning", "late", "early"),
        ):
            ratio = found[now] / found[then]
            yield {
                "id": f"C13-{name}-{part}",
                "what": what,
                "ours": found[now] / 1e6,
                "other": found[then] / 1e6,
                "ratio": ratio,
                "bar": MAX_GROWTH,
                "holds": ratio <= MAX_GROWTH,
            }


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps(measure(bool(int(sys.argv[1])))))
