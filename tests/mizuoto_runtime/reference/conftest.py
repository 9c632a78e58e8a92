"""Real speech."""

from pathlib import Path

import pytest
import soundfile
import torch
from mizuoto.mizuoto_runtime.audio import Audio

SPEECH = Path(__file__).resolve().parents[2] / "data" / "speech"


@pytest.fixture(scope="session")
def clip():
    """Two seconds of a reader, nearly without silence at the edges."""
    return Audio(torch.from_numpy(soundfile.read(SPEECH / "austen-0880.wav", dtype="float32")[0])[None], 16000)
