"""Voices: tables of style vectors, one row for each length of text, alone or mixed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import torch

from ...mizuoto_runtime.errors import ModelFileError
from ...mizuoto_runtime.loading.pickle import read_pickled_tensor
from .config import CheckpointConfig
from .manifest import MANIFEST, VOICES

_SUFFIX = ".pt"


def voice_names(folder: Path) -> tuple[str, ...]:
    """The voices beside a checkpoint: official ones in their order, then others by name.

    Raises:
        ModelFileError: There is none.
    """
    found = {path.stem for path in (folder / VOICES).glob(f"*{_SUFFIX}") if path.is_file()}
    if not found:
        raise ModelFileError(
            f'"{folder.name}" has no voice: there is no {_SUFFIX} file in its folder "{VOICES}". Copy at least one of '
            f"the model's voices there, such as {MANIFEST.voices[0]}{_SUFFIX}."
        )
    official = [name for name in MANIFEST.voices if name in found]
    return (*official, *sorted(found.difference(official), key=str.casefold))


class VoiceTables:
    """The voices of one checkpoint; each is read when it is first asked for.

    Args:
        folder: Of the checkpoint.
        names: Of its voices.
        config: The checkpoint's shape.
    """

    def __init__(self, folder: Path, names: tuple[str, ...], config: CheckpointConfig) -> None:
        self.names = names
        self._folder = folder / VOICES
        self._shape = (config.max_phonemes, 2 * config.style_size)
        self._tables: dict[str, torch.Tensor] = {}

    def style(self, shares: Mapping[str, float], num_phonemes: int) -> torch.Tensor:
        """Style of a voice or mixture for a text of so many phonemes, [1, 2 * style_size]: sound, then manner.

        Mixtures are weighted means; equal weights give the bits of kokoro 0.9.4, KPipeline.load_voice.

        Raises:
            ModelFileError: The file of a voice is missing or damaged.
        """
        row = min(num_phonemes, self._shape[0]) - 1
        styles = torch.stack([self._table(name)[row] for name in shares])
        weights = list(shares.values())
        if len(set(weights)) == 1:
            return styles.mean(dim=0)[None]
        return (styles * torch.tensor(weights)[:, None]).sum(dim=0)[None] / math.fsum(weights)

    def _table(self, name: str) -> torch.Tensor:
        if name not in self._tables:
            path = self._folder / f"{name}{_SUFFIX}"
            table = read_pickled_tensor(path, torch.float32)
            if table.dim() == 3:
                table = table.squeeze(1)  # the published ones are [rows, 1, size]
            if table.shape != self._shape or not bool(table.isfinite().all()):
                raise ModelFileError(
                    f'"{path.name}" is no voice of this model: it holds {tuple(table.shape)} numbers instead of '
                    f"{self._shape}, or some that are none. Copy it there again."
                )
            self._tables[name] = table
        return self._tables[name]
