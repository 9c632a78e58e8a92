"""The built-in voice against the wheel it was ported from: both from phonemes to waveform, one thread, interleaved."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
if "mizuoto" not in sys.modules:
    runpy.run_path(str(CONFTEST))

import torch  # noqa: E402
from mizuoto.engines.hibari.checkpoint import read_checkpoint  # noqa: E402
from mizuoto.engines.hibari.codec import CodecDecoder  # noqa: E402
from mizuoto.engines.hibari.manifest import ASSETS  # noqa: E402
from mizuoto.engines.hibari.talker import Talker  # noqa: E402
from mizuoto.mizuoto_runtime.loading.keys import load_into  # noqa: E402
from mizuoto.mizuoto_runtime.text import english  # noqa: E402

ROUNDS = 15
MIN_REALTIME = 30.0
MIN_RATIO = 0.35
MAX_ADDED_MB = 170.0
TEXTS = (
    "The quick brown fox jumps over the lazy dog near the river bank.",
    "Please call me tomorrow morning before nine o'clock to discuss the new project.",
    "She sells fresh bread and strong coffee in a small shop on the corner of the street.",
    "Scientists discovered a large number of stars in the distant galaxy last winter.",
    "Mizuoto paid Dr. Zworbley $12.50 on May 5th, 1999.",
)
PHONEMES = (
    "ðə kwˈɪk bɹˈWn fˈɑks ʤˈʌmps ˈOvəɹ ðə lˈAzi dˈɔɡ nˌɪɹ ðə ɹˈɪvəɹ bˈæŋk.",
    "plˈiz kˈɔl mˌi təmˈɑɹO mˈɔɹnɪŋ bəfˈɔɹ nˈIn əklˈɑk tə dəskˈʌs ðə nˈu pɹˈɑʤˌɛkt.",
    "ʃˌi sˈɛlz fɹˈɛʃ bɹˈɛd ænd stɹˈɔŋ kˈɔfi ɪn ɐ smˈɔl ʃˈɑp ˌɔn ðə kˈɔɹnəɹ ʌv ðə stɹˈit.",
    "sˈIəntɪsts dəskˈʌvəɹd ɐ lˈɑɹʤ nˈʌmbəɹ ʌv stˈɑɹz ɪn ðə dˈɪstᵊnt ɡˈæləksi lˈæst wˈɪntəɹ.",
    "ˌɪf ðə wˈɛðəɹ ɪz ɡˈʊd ˌɔn sˈæTəɹdˌA, wi wɪl wˈɔk əlˈɔŋ ðə bˈiʧ ænd wˈɑʧ ðə sˈʌnsˌɛt.",
)


def load() -> tuple[Talker, CodecDecoder]:
    """Talker and decoder with the shipped weights."""
    path = ASSETS / "hibari_heart.f16.safetensors"
    with torch.device("meta"):
        talker, decoder = Talker(), CodecDecoder()
    states = read_checkpoint(path, torch.float32)
    for module, component in ((talker, "talker"), (decoder, "decoder")):
        load_into(module, states[component], path.name)
        module.eval().requires_grad_(False)
    return talker, decoder


def to_ids(sentences: Iterable[str]) -> list[list[int]]:
    """Ids of phoneme strings, padded."""
    vocab = json.loads((ASSETS / "vocab.json").read_text(encoding="utf-8"))
    return [[0, *(vocab[phoneme] for phoneme in phonemes), 0] for phonemes in sentences]


def speak(talker: Talker, decoder: CodecDecoder, ids: list[int], seed: int = 0) -> torch.Tensor:
    """Waveform of one sentence, [samples]."""
    sentence = torch.tensor([ids])
    return decoder(sentence, *talker(sentence), torch.Generator().manual_seed(seed))[0, 0]


def interleaved_best(functions: list[Callable[[], object]]) -> list[float]:
    """Best seconds of each function, all of them called in every round."""
    best = [float("inf")] * len(functions)
    for _ in range(ROUNDS):
        for index, function in enumerate(functions):
            start = time.perf_counter()
            function()
            best[index] = min(best[index], time.perf_counter() - start)
    return best


def check_agreement(ours: torch.Tensor, theirs: torch.Tensor) -> bool:
    """Whether both waveforms have the same length; raises if they do not say the same.

    The wheel rounds activations to 8 bits, which moves a duration by a frame here and there.
    """
    if abs(len(ours) - len(theirs)) > 0.02 * len(theirs):
        raise AssertionError(f"ours is {len(ours)} samples long, the wheel's {len(theirs)}")
    if len(ours) != len(theirs):
        return False
    window = torch.hann_window(1200)
    levels = [
        torch.stft(w, 1200, 300, window=window, return_complex=True).abs().add(1e-3).log() for w in (ours, theirs)
    ]
    correlation = torch.corrcoef(torch.stack([level.flatten() for level in levels]))[0, 1].item()
    if correlation < 0.95:
        raise AssertionError(f"log spectra correlate by {correlation:.3f} only")
    return True


def speed_rows() -> Iterator[dict]:
    """Synthesis time against the wheel's, and against real time."""
    import hibari
    import numpy as np

    wheel = hibari.Hibari(threads=1)
    talker, decoder = load()
    sentences = to_ids(PHONEMES)
    lengths_agree = 0
    seconds = ours_s = theirs_s = 0.0
    for ids in sentences:
        ours, theirs = speak(talker, decoder, ids), wheel.from_ids(ids, 1.0, np.random.default_rng(0))
        lengths_agree += check_agreement(ours, torch.from_numpy(theirs))

        def run_ours(ids: list[int] = ids) -> object:
            return speak(talker, decoder, ids)

        def run_wheel(ids: list[int] = ids) -> object:
            return wheel.from_ids(ids, 1.0, np.random.default_rng(0))

        best = interleaved_best([run_ours, run_wheel])
        seconds, ours_s, theirs_s = seconds + len(ours) / 24000, ours_s + best[0], theirs_s + best[1]
    if lengths_agree < 3:
        raise AssertionError(f"only {lengths_agree} of {len(sentences)} sentences are as long as the wheel's")
    ratio, realtime = theirs_s / ours_s, seconds / ours_s
    yield {
        "id": "hibari.synthesis",
        "what": f"seconds for {seconds:.1f} s of speech from phonemes, against hibari-tts (8-bit ONNX), one thread",
        "ours": ours_s,
        "other": theirs_s,
        "ratio": ratio,
        "bar": MIN_RATIO,
        "holds": ratio >= MIN_RATIO,
    }
    yield {
        "id": "hibari.realtime",
        "what": "seconds of speech made in a second, one thread",
        "ours": realtime,
        "other": 1.0,
        "ratio": realtime,
        "bar": MIN_REALTIME,
        "holds": realtime >= MIN_REALTIME,
    }


def memory_row() -> dict:
    """Peak memory that the voice adds to a process that has torch, measured in one of its own."""
    done = subprocess.run([sys.executable, __file__, "--peak"], capture_output=True, text=True, check=True)
    peak_mb = float(done.stdout)
    return {
        "id": "hibari.memory",
        "what": "MB of peak RSS added by the English front end, the weights and speaking five sentences",
        "ours": peak_mb,
        "other": MAX_ADDED_MB,
        "ratio": peak_mb / MAX_ADDED_MB,
        "bar": 1.0,
        "holds": peak_mb <= MAX_ADDED_MB,
    }


def added_peak_mb() -> float:
    """Peak RSS from text to waveform beyond torch's own after a first matrix product and FFT (Linux)."""

    def status_mb(field: str) -> float:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024

    torch.fft.rfft(torch.zeros(8, 1200) @ torch.zeros(1200, 1200))
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # restarts the peak
    before = status_mb("VmRSS")
    g2p = english.load()
    talker, decoder = load()
    for ids in to_ids(g2p(text) for text in TEXTS):
        speak(talker, decoder, ids)
    return status_mb("VmHWM") - before


def run() -> Iterable[dict]:
    """All rows."""
    # A list: a generator would leave its caller in inference mode between rows.
    with torch.inference_mode():
        rows = list(speed_rows())
    yield from rows
    if Path("/proc/self/clear_refs").exists():
        yield memory_row()


if __name__ == "__main__":
    if sys.argv[1:] == ["--peak"]:
        with torch.inference_mode():
            print(added_peak_mb())
    else:
        for row in run():
            print(json.dumps(row))
