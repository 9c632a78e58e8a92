"""Builds the weights of the VAD from the TorchScript model of the silero-vad 6.2.3 wheel.

Run it with a folder to write there: `python build_data.py FOLDER`. The tests import it to prove that the shipped file
holds exactly what the wheel holds. The wheel's own `.safetensors` holds other weights, which decide differently.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import torch
from safetensors.torch import save_file

RENAMES = {
    "_model.": "",
    "stft.forward_basis_buffer": "stft.weight",
    ".reparam_conv": "",
    "decoder.rnn.": "rnn.",
    "decoder.decoder.2.": "head.",
}


def wheel_model():
    return torch.jit.load(Path(find_spec("silero_vad").origin).parent / "data" / "silero_vad.jit", "cpu").eval()


def renamed(key: str) -> str:
    for theirs, ours in RENAMES.items():
        key = key.replace(theirs, ours)
    return key


def state(model) -> dict[str, torch.Tensor]:
    """The network for 16 kHz; the wheel's model has one for 8 kHz beside it."""
    return {renamed(key): value.contiguous() for key, value in model.state_dict().items() if key.startswith("_model.")}


def build(folder: Path) -> None:
    save_file(state(wheel_model()), folder / "silero_16k.safetensors")


if __name__ == "__main__":
    build(Path(sys.argv[1]))
