"""Silero's own package, and speech that it can be asked about."""

import importlib.util
from pathlib import Path

import pytest
import soundfile
import torch

HERE = Path(__file__).parent
SPEECH = Path(__file__).resolve().parents[2] / "data" / "speech"


@pytest.fixture(scope="session")
def build_data():
    spec = importlib.util.spec_from_file_location("silero_build_data", HERE / "build_data.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def silero(build_data):
    """The TorchScript model."""
    return build_data.wheel_model()


@pytest.fixture(scope="session")
def clips():
    """Name -> [T] of real speech at 16 kHz."""
    return {path.stem: torch.from_numpy(soundfile.read(path, dtype="float32")[0]) for path in SPEECH.glob("*.wav")}


@pytest.fixture(scope="session")
def recordings(clips):
    """Name -> [T]: speech alone, with pauses, joined, quiet, in noise; and what is no speech."""
    draws = torch.Generator().manual_seed(5)
    noise = torch.randn(48000, generator=draws)
    speech = clips["austen-0870"]
    short, other = clips["austen-0880"], clips["austen-0920"]
    joined = torch.cat((torch.zeros(7001), short, torch.zeros(9000), other))
    return {
        "one clip": short,
        "joined": joined,
        "without pauses": torch.cat((speech, other)),
        "in noise": short + 0.02 * torch.randn(len(short), generator=draws),
        "quiet": 1e-3 * short,
        "noise": 0.1 * noise,
        "silence": torch.zeros(20000),
        "one window": speech[20000:20512],
        "less than a window": speech[20000:20100],
    }
