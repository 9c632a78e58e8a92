"""The real speech that tests of the engine hear, with what is said in it; 16 kHz, from tests/data/speech."""

import wave
from pathlib import Path

import numpy as np
import torch

FOLDER = Path(__file__).resolve().parents[2] / "data" / "speech"
WORDS = {
    "austen-0870": "and mister john dashwood had then leisure to consider how much there might be prudently in his "
    "power to do for them",
    "austen-0880": "he was not an ill disposed young man",
    "austen-0920": "had he married a more a amiable woman he might have been made still more respectable than he was",
}


def read(name: str) -> torch.Tensor:
    """[T] float32."""
    with wave.open(str(FOLDER / f"{name}.wav")) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), np.int16)
    return torch.from_numpy(samples.astype(np.float32) / 32768.0)
