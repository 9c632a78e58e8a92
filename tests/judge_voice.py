"""The judges of how speech sounds: who speaks, and how natural it is.

A high figure does not prove a port right, golden tensors do that; a low one proves that something is wrong.
"""

from __future__ import annotations

import functools
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from mizuoto.tests.judges import EAR_SAMPLE_RATE, for_judges

SAME_SPEAKER = 0.75
NATURAL = 4.3

# Resemblyzer 0.1.4, hparams.py and voice_encoder.py.
_HOP, _WINDOW, _MELS, _SIZE = 160, 400, 40, 256
_FRAMES, _STEP = 160, 77  # windows of 1.6 s, 1.3 a second
_LOUDNESS_DB = -30.0


def speaker_similarity(a: Any, rate_a: int, b: Any, rate_b: int) -> float:
    """Cosine between the speakers of two recordings, 0..1: `SAME_SPEAKER` and more is one person.

    A generalised end-to-end encoder (Resemblyzer's weights) over windows of 1.6 s; below two seconds it is unsure.

    Args:
        a, b: [T], [C, T] or [1, C, T], tensor or array, -1..1.
        rate_a, rate_b: In Hz.
    """
    return float(_speaker(a, rate_a) @ _speaker(b, rate_b))


def mean_opinion_score(waveform: Any, sample_rate: int) -> float:
    """What listeners would say of how it sounds, 1 (bad) to 5 (excellent), by Distill-MOS; `NATURAL` is very good.

    Args:
        waveform: [T], [C, T] or [1, C, T], tensor or array; loudness does not matter.
        sample_rate: In Hz.
    """
    samples = torch.from_numpy(for_judges(waveform, sample_rate))
    with torch.inference_mode():
        return float(_listener()(samples[None]))


def _speaker(waveform: Any, sample_rate: int) -> np.ndarray:
    """[256] of length one. Source: Resemblyzer 0.1.4 `VoiceEncoder.embed_utterance`, without its voice detection."""
    import librosa

    samples = for_judges(waveform, sample_rate)
    samples = np.pad(samples, (0, max(0, _FRAMES * _HOP - len(samples))))
    level = 10 * np.log10(np.mean(samples.astype(np.float64) ** 2) + 1e-20)
    samples = samples * 10 ** (max(0.0, _LOUDNESS_DB - level) / 20)  # only ever louder
    mel = librosa.feature.melspectrogram(
        y=samples, sr=EAR_SAMPLE_RATE, n_fft=_WINDOW, hop_length=_HOP, n_mels=_MELS
    ).astype(np.float32).T  # fmt: skip
    windows = torch.from_numpy(mel).unfold(0, _FRAMES, _STEP).transpose(1, 2)
    with torch.inference_mode():
        partial = _encoder()(windows)
    mean = partial.mean(0)
    return (mean / mean.norm()).numpy()


class _Encoder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(_MELS, _SIZE, 3, batch_first=True)
        self.linear = torch.nn.Linear(_SIZE, _SIZE)

    def forward(self, mels: torch.Tensor) -> torch.Tensor:
        """[B, frames, mels] -> [B, 256], each of length one."""
        _, (hidden, _) = self.lstm(mels)
        return torch.nn.functional.normalize(self.linear(hidden[-1]).relu())


@functools.cache
def _encoder() -> _Encoder:
    # Importing the package would need a compiled voice detector that it does not bring along.
    spec = find_spec("resemblyzer")
    assert spec is not None and spec.origin is not None
    file = Path(spec.origin).with_name("pretrained.pt")
    state = torch.load(file, map_location="cpu", weights_only=True)["model_state"]
    encoder = _Encoder()
    encoder.load_state_dict({name: state[name] for name in encoder.state_dict()})
    return encoder.eval()


@functools.cache
def _listener() -> torch.nn.Module:
    # Distill-MOS imports torchaudio, with which only its command line reads files.
    before = sys.modules.get("torchaudio")
    sys.modules["torchaudio"] = empty = ModuleType("torchaudio")
    empty.__spec__ = ModuleSpec("torchaudio", None)
    try:
        from distillmos import ConvTransformerSQAModel
    finally:
        del sys.modules["torchaudio"]
        if before is not None:
            sys.modules["torchaudio"] = before
    model: torch.nn.Module = ConvTransformerSQAModel()
    return model.eval()
