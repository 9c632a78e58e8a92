"""One Qwen3-TTS checkpoint in our engine and in the upstream package, and what each costs a process of its own.

`python qwen3_sides.py load ours|theirs FOLDER` and `python qwen3_sides.py growth FOLDER` print JSON.
"""

from __future__ import annotations

import ctypes
import gc
import json
import runpy
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
if "mizuoto" not in sys.modules:
    runpy.run_path(str(CONFTEST))

import torch  # noqa: E402
from mizuoto.engines import speech  # noqa: E402
from mizuoto.engines.base import LoadSpec, Options  # noqa: E402
from mizuoto.engines.qwen3_tts.engine import ENGINE  # noqa: E402
from mizuoto.engines.voices import preset_voice  # noqa: E402
from mizuoto.mizuoto_runtime.device import CPU  # noqa: E402
from mizuoto.mizuoto_runtime.runtime import Runtime  # noqa: E402
from mizuoto.tests.bench.random_qwen3 import SPEAKER  # noqa: E402

TEXT, LANGUAGE = "The cat sat on the mat and then it ran away.", "English"
PROMPTS, EARLY_PROMPTS = 20, 5
PROMPT_FRAMES = (4, 60, 9, 30, 90)
WORDS = TEXT.removesuffix(".").split()


class Ours:
    """A checkpoint in our engine, in float32 on the CPU."""

    def __init__(self, folder: Path) -> None:
        self.runtime = Runtime()
        self.engine = ENGINE.load(LoadSpec(folder.name, folder, CPU, torch.float32), self.runtime)
        self.voice = preset_voice(self.engine.manifest, SPEAKER)

    def codes(self, seed: int, frames: int, decoding: str = "exact") -> torch.Tensor:
        """One take of at most so many frames, [T, codebooks]."""
        chosen = {option.name: option.default for option in self.engine.manifest.options}
        chosen |= self._values(frames, decoding)
        return self.engine.talk(TEXT, self.voice, chosen, self.runtime.context(seed)).segments[0].tensors["codes"]

    def sound(self, seed: int, frames: int, text: str = TEXT) -> torch.Tensor:
        """The same as sound, [samples]."""
        options = Options(ENGINE.manifest.id, self._values(frames, "exact"))
        return speech.speak(self.engine, text, self.voice, options, self.runtime.context(seed)).waveform[0]

    def _values(self, frames: int, decoding: str) -> dict[str, Any]:
        return {"language": LANGUAGE, "decoding": decoding, "stop_loops": False, "max_seconds": frames / 12.5}


class Theirs:
    """The same checkpoint in the upstream package; `load` makes its model."""

    def __init__(self, folder: Path, load: Callable[[Path], Any]) -> None:
        self.model = load(folder)

    def codes(self, seed: int, frames: int) -> torch.Tensor:
        """One take of at most so many frames, [T, codebooks]; drawn from the global generator."""
        torch.default_generator.manual_seed(seed)
        ids = self.model._tokenize_texts([self.model._build_assistant_text(TEXT)])
        spoken = {"input_ids": ids, "instruct_ids": [None], "languages": [LANGUAGE], "speakers": [SPEAKER]}
        options = self.model._merge_generate_kwargs(max_new_tokens=frames + 1)
        codes, _ = self.model.model.generate(**spoken, non_streaming_mode=True, **options)
        return codes[0]

    def sound(self, seed: int, frames: int) -> torch.Tensor:
        """The same as sound, [samples]."""
        torch.default_generator.manual_seed(seed)
        found, _ = self.model.generate_custom_voice(
            text=TEXT, language=LANGUAGE, speaker=SPEAKER, max_new_tokens=frames + 1
        )
        return torch.from_numpy(found[0])


def as_published(folder: Path) -> Any:
    """The upstream's model as its documentation loads it."""
    import qwen_tts

    return qwen_tts.Qwen3TTSModel.from_pretrained(
        str(folder), device_map="cpu", dtype=torch.float32, attn_implementation="sdpa"
    )


def status_bytes(field: str) -> int:
    """A field of this process's memory status (Linux)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) << 10


def first_frame(side: str, folder: Path) -> dict[str, Any]:
    """Processor seconds and peak of added memory from nothing loaded to the sound of the first frame."""
    if side == "theirs":
        import qwen_tts  # noqa: F401 - its import is no part of the load, as ours is none
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # restarts the peak
    before, start, started = status_bytes("VmRSS"), time.process_time(), time.perf_counter()
    model = Ours(folder) if side == "ours" else Theirs(folder, as_published)
    sound = model.sound(0, 1)
    seconds, wall_s = time.process_time() - start, time.perf_counter() - started
    peak = status_bytes("VmHWM")
    return {"seconds": seconds, "wall_s": wall_s, "peak": peak - before, "total_peak": peak,
            "samples": len(sound), "loudness": float(sound.abs().mean())}  # fmt: skip


def growth(folder: Path) -> dict[str, int]:
    """Resident memory early and late in `PROMPTS` prompts of varied length.

    All were said once before: torch keeps kernels of every length that its convolutions have met, up to a limit.
    """
    model, found = Ours(folder), []
    for number in range(2 * PROMPTS):
        seed = number % PROMPTS
        text = " ".join(WORDS[: 1 + seed * 3 % len(WORDS)] * (1 + seed % 4))
        model.sound(seed, PROMPT_FRAMES[seed % len(PROMPT_FRAMES)], text)
        found.append(settled_bytes())
    return {"first": found[0], "early": max(found[PROMPTS:][:EARLY_PROMPTS]), "late": max(found[-EARLY_PROMPTS:])}


def settled_bytes() -> int:
    """Memory of this process after everything that can be given back was."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim:
        trim(0)
    return status_bytes("VmRSS")


if __name__ == "__main__":
    torch.set_num_threads(1)
    with torch.inference_mode(False), torch.no_grad():
        what, *rest = sys.argv[1:]
        print(json.dumps(first_frame(rest[0], Path(rest[1])) if what == "load" else growth(Path(rest[0]))))
