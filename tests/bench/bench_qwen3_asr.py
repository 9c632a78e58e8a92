"""Qwen3-ASR against the upstream package: tokens a second of the greedy loop, prompt and sound included.

The checkpoint is the tiny random one of the tests, which costs as many calls a step as a large one of two layers and no
time in them: what is measured is the loop around the arithmetic. One process, one thread, both sides interleaved, their
tokens compared first. Recordings of the length of a sentence, and of half a minute, of which most is the prompt's.
"""

from __future__ import annotations

import json
import runpy
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
if "mizuoto" not in sys.modules:
    runpy.run_path(str(CONFTEST))

import torch  # noqa: E402
from mizuoto.engines.base import LoadSpec  # noqa: E402
from mizuoto.engines.qwen3_asr.engine import ENGINE, mel_filters  # noqa: E402
from mizuoto.engines.qwen3_asr.generation import Choices, generate  # noqa: E402
from mizuoto.mizuoto_runtime.device import CPU  # noqa: E402
from mizuoto.mizuoto_runtime.lm.sampling import Sampling  # noqa: E402
from mizuoto.mizuoto_runtime.nn.whisper_mel import whisper_log_mel  # noqa: E402
from mizuoto.mizuoto_runtime.runtime import Runtime  # noqa: E402
from mizuoto.tests.bench.body import best_s  # noqa: E402
from mizuoto.tests.engines.qwen3_asr import oracle, tiny  # noqa: E402

ENDLESS = 1  # a seed whose texts do not come to an end
SECONDS, TOKENS, ROUNDS = (3.0, 30.0), 48, 8
MIN_SPEEDUP = 2.0


class Ours:
    """The checkpoint in our engine, in float32."""

    def __init__(self, folder: Path) -> None:
        with torch.inference_mode(False):
            self.engine = ENGINE.load(LoadSpec(folder.name, folder, CPU, torch.float32), Runtime())
        self.encoder, self.decoder = (handle.module for handle in self.engine.handles)
        self.filters = mel_filters(tiny.AUDIO["num_mel_bins"])
        self.choices = Choices(Sampling(do_sample=False), TOKENS, self.engine._prompt.eos_ids)

    def tokens(self, waveform: torch.Tensor) -> list[int]:
        """What it writes about [T] samples."""
        sound = self.encoder(whisper_log_mel(waveform, self.filters))
        prompt = self.engine._prompt("", None)
        return generate(self.decoder, prompt, sound, self.choices, None, lambda written: None).ids


class Theirs:
    """The same checkpoint in the upstream package, with torch's attention in windows."""

    def __init__(self, folder: Path) -> None:
        with torch.inference_mode(False):
            self.model = oracle.load.__wrapped__(folder)

    def tokens(self, waveform: torch.Tensor) -> list[int]:
        """What it writes about [T] samples."""
        text = self.model._build_text_prompt(context="", force_language=None)
        inputs = self.model.processor(text=[text], audio=[waveform.numpy()], return_tensors="pt")
        written = self.model.model.generate(**inputs, max_new_tokens=TOKENS).sequences
        return written[0, inputs["input_ids"].shape[1] :].tolist()


@torch.inference_mode()
def run() -> Iterable[dict]:
    """A row for each length."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="mizuoto-bench-") as place:
        tiny.build(Path(place) / "tiny", seed=ENDLESS)
        ours, theirs = Ours(Path(place) / "tiny"), Theirs(Path(place) / "tiny")
        for seconds in SECONDS:
            waveform = torch.from_numpy(oracle.speech(seconds))
            found = ours.tokens(waveform)
            if found != theirs.tokens(waveform):
                raise AssertionError(f"other tokens than the upstream's for {seconds:g} s of sound")
            if len(found) != TOKENS:
                raise AssertionError(f"{len(found)} tokens for {seconds:g} s of sound instead of {TOKENS}")
            takes = {"ours": lambda: ours.tokens(waveform), "theirs": lambda: theirs.tokens(waveform)}  # noqa: B023
            rates = {side: TOKENS / best for side, best in best_s(takes, ROUNDS).items()}
            ratio = rates["ours"] / rates["theirs"]
            what = f"tokens a second about {seconds:g} s of sound, tiny checkpoint, {TOKENS} tokens, against qwen-asr"
            yield {"id": f"qwen3-asr-{seconds:g}s", "what": what, "ours": rates["ours"], "other": rates["theirs"],
                   "ratio": ratio, "bar": MIN_SPEEDUP, "holds": ratio >= MIN_SPEEDUP}  # fmt: skip


if __name__ == "__main__":
    for row in run():
        print(json.dumps(row))
