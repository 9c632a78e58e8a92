"""Whisper against openai-whisper and faster-whisper: one real clip from samples to text with tiny.en, greedily.

In one process on one thread, all sides interleaved, their texts compared first. All compute in float32 but for the
row that says int8. The times are the process's, as faster-whisper computes in threads of its own.
"""

from __future__ import annotations

import json
import runpy
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
if "mizuoto" not in sys.modules:
    runpy.run_path(str(CONFTEST))

import faster_whisper  # noqa: E402
import torch  # noqa: E402
import whisper  # noqa: E402
from mizuoto.engines.base import LoadSpec, Options  # noqa: E402
from mizuoto.engines.whisper.engine import ENGINE  # noqa: E402
from mizuoto.mizuoto_runtime.audio import Audio  # noqa: E402
from mizuoto.mizuoto_runtime.device import CPU  # noqa: E402
from mizuoto.mizuoto_runtime.runtime import Runtime  # noqa: E402
from mizuoto.tests.bench.body import row  # noqa: E402
from mizuoto.tests.engines.whisper import clips, oracle  # noqa: E402
from mizuoto.tests.engines.whisper.conftest import REAL  # noqa: E402
from mizuoto.tests.judges import normalize  # noqa: E402

CLIP, ROUNDS = "austen-0870", 5
MAX_TIME = 1.0
GREEDY = {"temperature": 0.0, "temperature_fallback": False}


def sides(samples: torch.Tensor) -> dict[str, Callable[[], str]]:
    """Name -> what hears the clip and gives its text."""
    runtime = Runtime()
    ours = ENGINE.load(LoadSpec("tiny.en", REAL, CPU, torch.float32), runtime)
    options = ours.manifest.resolve(Options("whisper", GREEDY))
    theirs = oracle.openai(REAL)

    def heard() -> str:
        with torch.inference_mode():
            return ours.transcribe(Audio(samples[None], 16000), "en", options, runtime.context(0)).text

    def by_openai() -> str:
        return whisper.transcribe(theirs, samples, language="en", fp16=False, temperature=0.0)["text"].strip()

    def by_faster(kind: str) -> Callable[[], str]:
        model = faster_whisper.WhisperModel(str(REAL), device="cpu", compute_type=kind, cpu_threads=1)

        def transcribed() -> str:
            segments, _ = model.transcribe(samples.numpy(), language="en", beam_size=1, temperature=0.0)
            return " ".join(segment.text.strip() for segment in segments)

        return transcribed

    return {"ours": heard, "openai": by_openai, "int8": by_faster("int8"), "float32": by_faster("float32")}


def least_s(functions: dict[str, Callable[[], str]]) -> dict[str, float]:
    """The least time of the process that each function took, all of them called in every round."""
    least = dict.fromkeys(functions, float("inf"))
    for _ in range(ROUNDS):
        for name, function in functions.items():
            start = time.process_time()
            function()
            least[name] = min(least[name], time.process_time() - start)
    return least


def run() -> Iterable[dict]:
    """All rows; those against faster-whisper are for information."""
    torch.set_num_threads(1)
    samples = clips.read(CLIP)
    functions = sides(samples)
    texts = {name: function() for name, function in functions.items()}
    if texts["ours"] != texts["openai"] or len({tuple(normalize(text)) for text in texts.values()}) > 1:
        raise AssertionError(f"the sides hear different words: {texts}")
    least = least_s(functions)
    what = f"CPU s from {len(samples) / 16000:.1f} s of speech to text, tiny.en"
    yield row("whisper", f"{what}, against openai-whisper", least["ours"], least["openai"], MAX_TIME)
    for kind in ("float32", "int8"):
        other = f"{what}, against faster-whisper in {kind}"
        yield {**row(f"whisper-faster-{kind}", other, least["ours"], least[kind], float("inf")), "bar": None}


if __name__ == "__main__":
    for found in run():
        print(json.dumps(found))
