"""A long article spoken by the built-in voice inside a real ComfyUI: memory while it speaks, and what is understood."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from mizuoto.tests.host.comfy import Comfy
from mizuoto.tests.host.graphs import load, node, report, save, show, sound
from mizuoto.tests.judges import MAX_WORD_ERROR_RATE, transcribe, word_error_rate

ROOT = Path(__file__).resolve().parents[2]
PROSE = ROOT / "tests" / "mizuoto_runtime" / "text" / "english" / "prose.txt"
CHARACTERS = int(os.environ.get("MIZUOTO_ARTICLE", "50000"))
RATE = 24000
SAMPLED = 40
MAX_GROWTH = 1.15  # the allocator keeps scraps between segments, which it can give back
EARLY, LATE = 0.1, 0.8  # of the time that the node takes


def article() -> str:
    """Paragraphs in ever other order, each time with its number, so that no two segments are alike."""
    paragraphs, found, size = PROSE.read_text(encoding="utf-8").split("\n"), [], 0
    shuffled = random.Random(0)
    while size < CHARACTERS:
        shuffled.shuffle(paragraphs)
        for paragraph in filter(None, paragraphs):
            found.append(f"Paragraph {len(found) + 1}. {paragraph}")
            size += len(found[-1]) + 2
    return "\n\n".join(found)[:CHARACTERS]


@contextmanager
def watched(pid: int) -> Iterator[list[tuple[float, int]]]:
    """(seconds, bytes of resident memory) of a process, twice a second."""
    found: list[tuple[float, int]] = []
    done = threading.Event()

    def watch() -> None:
        start = time.monotonic()
        while not done.wait(0.5):
            lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
            kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
            found.append((time.monotonic() - start, kilobytes << 10))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        done.set()
        thread.join()


def run() -> Iterable[dict]:
    """Memory at the end of the speaking against its beginning, less the samples; word errors of sampled segments."""
    prompt = load() | node("speak", "MizuotoSpeakScript", model=["load", 0], script=article(), seed=0)
    prompt |= save(["speak", 0]) | show(["speak", 2], "timeline")
    warm = load() | node("speak", "MizuotoSpeakScript", model=["load", 0], script=article()[:4000], seed=1)
    environment = {"MIZUOTO_SEGMENT_CACHE_MB": "0"}
    with Comfy(Path(os.environ["COMFYUI_PATH"]), packs={"ComfyUI-Mizuoto": ROOT}, env=environment) as comfy:
        comfy.run(warm | save(["speak", 0]), timeout_s=3600)
        with watched(comfy.pid) as memory:
            start = time.monotonic()
            run_of_it = comfy.run(prompt, timeout_s=3600)
            seconds = time.monotonic() - start
        samples = sound(comfy, run_of_it)
        takes = json.loads(run_of_it.outputs["timeline"]["text"][0])
    # While it speaks the segments are in memory once; joining them and writing the file come afterwards.
    told = report(run_of_it)
    speaking_s = told["timings_ms"]["total"] / 1e3
    early, late = (_at(memory, share * speaking_s) - share * samples.size * 4 for share in (EARLY, LATE))
    what = "MB towards the end of the speaking, less the samples so far, against the beginning"
    yield _row("article-memory", what, late / 1e6, early / 1e6, MAX_GROWTH)
    yield _row("article-speed", f"seconds for {samples.size / RATE:.0f} s of speech", seconds, samples.size / RATE, 1.0)
    yield _words(samples, takes)


def _at(memory: list[tuple[float, int]], seconds: float) -> int:
    return next(size for at, size in memory if at >= seconds)


def _words(samples: np.ndarray, takes: list[dict]) -> dict:
    chosen = random.Random(1).sample(takes, min(SAMPLED, len(takes)))
    said = " ".join(take["text"] for take in chosen)
    heard = " ".join(
        transcribe(samples[int(take["start"] * RATE) : int(take["end"] * RATE)] / 32768, RATE) for take in chosen
    )
    return _row(
        "article-words",
        f"word error rate of {len(chosen)} of {len(takes)} segments",
        word_error_rate(said, heard),
        1.0,
        MAX_WORD_ERROR_RATE,
    )


def _row(name: str, what: str, ours: float, other: float, bar: float) -> dict:
    ratio = ours / other
    return {"id": name, "what": what, "ours": ours, "other": other, "ratio": ratio, "bar": bar, "holds": ratio <= bar}
