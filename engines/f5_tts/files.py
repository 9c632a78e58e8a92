"""Which file of a folder holds F5-TTS weights, told by the names inside without loading anything. Imports no torch."""

from __future__ import annotations

import re
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

VOCABULARY = "vocab.txt"
VOCODER = "vocos-mel-24khz"
V0, V1 = VERSIONS = ("v0", "v1")

_NAMES_BYTES = 4 << 20  # of a header; a checkpoint of the training has some 300 KB of names
_MARKS = (b"transformer_blocks.0.attn_norm.linear.weight", b"text_embed.text_embed.weight")
# What stands before "transformer." in names, with what gives it away; averaged weights before those of the last step.
_SAFETENSORS_PREFIXES = ((b'"ema_model.transformer.', "ema_model."), (b'"transformer.', ""))
_PICKLE_PREFIXES = (
    (b"ema_model_state_dict", "ema_model_state_dict.ema_model."),
    (b"model_state_dict", "model_state_dict."),
    (b"ema_model.transformer.", "ema_model."),
    (b"", ""),
)
_NUMBER = re.compile(r"model_(\d+)")
_V1, _V0 = re.compile(r"v1(?!\d)", re.I), re.compile(r"v0(?!\d)|F5-?TTS_?Base", re.I)


@dataclass(frozen=True, slots=True)
class WeightFile:
    """A file with the weights of a model.

    Attributes:
        path: The file.
        prefix: What all names of its weights begin with.
    """

    path: Path
    prefix: str


def find_weights(folder: Path) -> WeightFile | None:
    """The newest weights in `folder`: the last ones of a training, or those of the most steps; None without any."""
    with suppress(OSError):
        files = [path for path in folder.iterdir() if path.suffix in (".safetensors", ".pt") and path.is_file()]
        for path in sorted(files, key=_age, reverse=True):
            names, table = _names(path)
            if all(mark in names for mark in _MARKS):
                return WeightFile(path, next(prefix for mark, prefix in table if mark in names) + "transformer.")
    return None


def version_told_by(*names: str) -> str | None:
    """Which release the first telling name is of, one of `VERSIONS`: their weights look alike."""
    for name in names:
        if _V1.search(name):
            return V1
        if _V0.search(name):
            return V0
    return None


def _age(path: Path) -> tuple[bool, bool, int, bool, str]:
    name = path.stem
    steps = _NUMBER.search(name)
    # A fine-tune keeps what it began with beside its own as "pretrained_".
    return (
        not name.startswith("pretrained_"),
        "last" in name,
        int(steps[1]) if steps else 0,
        path.suffix == ".safetensors",
        name,
    )


def _names(path: Path) -> tuple[bytes, tuple[tuple[bytes, str], ...]]:
    """The part of a file that names its tensors, and the prefixes that such files have; empty where it cannot be."""
    with suppress(OSError, ValueError, zipfile.BadZipFile, NotImplementedError, RuntimeError):
        if path.suffix == ".safetensors":
            with open(path, "rb") as file:
                length = int.from_bytes(file.read(8), "little")
                return file.read(min(length, _NAMES_BYTES)), _SAFETENSORS_PREFIXES
        with zipfile.ZipFile(path) as archive:
            entry = next((name for name in archive.namelist() if name.endswith("/data.pkl")), "data.pkl")
            with archive.open(entry) as stream:
                return stream.read(_NAMES_BYTES), _PICKLE_PREFIXES
    return b"", ()
