"""The voice activity detector against its TorchScript original, equal probabilities asserted first."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import soundfile
import torch
from mizuoto.mizuoto_runtime.vad.network import SAMPLE_RATE, WINDOW, network
from mizuoto.tests.bench.body import best_s, row

ROUNDS = 5
MIN_TIMES_REAL = 20.0
SPEECH = Path(__file__).resolve().parents[1] / "data" / "speech" / "austen-0870.wav"
MAX_RATIO = 1.15  # layers of Python against one compiled graph


def run() -> Iterable[dict]:
    """Against the original, and against the clock of the recording."""
    torch.set_num_threads(1)
    original = torch.jit.load(Path(find_spec("silero_vad").origin).parent / "data" / "silero_vad.jit", "cpu").eval()
    waveform = torch.from_numpy(soundfile.read(SPEECH, dtype="float32")[0])
    windows = torch.nn.functional.pad(waveform, (0, -len(waveform) % WINDOW)).split(WINDOW)

    @torch.inference_mode()
    def theirs() -> torch.Tensor:
        original.reset_states()
        return torch.cat([original(window, SAMPLE_RATE)[0] for window in windows])

    def ours() -> torch.Tensor:
        return network().probabilities(waveform, lambda: None)

    if not torch.equal(ours(), theirs()):
        raise AssertionError("the detector and its original hear different things")
    best = best_s({"ours": ours, "theirs": theirs}, ROUNDS)
    seconds = len(waveform) / SAMPLE_RATE
    yield row("vad", "s of one core for a clip, against the TorchScript model", best["ours"], best["theirs"], MAX_RATIO)
    yield row("vad-real", "s of one core for a clip, against its length", best["ours"], seconds, 1 / MIN_TIMES_REAL)
