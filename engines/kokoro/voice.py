"""Voices: tables of style vectors, one row for each length of text, alone or mixed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path

import torch

from ...mizuoto_runtime.errors import InvalidRequest, ModelFileError, did_you_mean
from ...mizuoto_runtime.loading.pickle import read_pickled_tensor
from .config import CheckpointConfig
from .manifest import MANIFEST, VOICES

_SUFFIX = ".pt"
_SHARE = re.compile(r"\s*(?P<name>[^\s:]+)\s*(?::\s*(?P<weight>\d+(?:\.\d*)?|\.\d+)\s*)?")


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


def read_mixture(text: str, names: tuple[str, ...]) -> dict[str, float]:
    """Name -> weight of what a user wrote: `af_heart`, `af_heart+am_michael`, `af_heart:0.7+am_michael:0.3`.

    A voice without a weight has 1, but where others say theirs and leave some of 1, it has that.

    Raises:
        InvalidRequest: A voice is not among `names`, or the weights make no sense.
    """
    found: dict[str, float | None] = {}
    for part in text.split("+"):
        match = _SHARE.fullmatch(part)
        if match is None:
            raise InvalidRequest(
                f'"{part.strip()[:40]}" in the mixture "{text[:80]}" is no voice with a weight; write it like '
                "af_heart:0.7+am_michael:0.3."
            )
        name = _known(match["name"], names)
        if name in found:
            raise InvalidRequest(f'The mixture "{text[:80]}" names "{name}" twice; give it one weight.')
        found[name] = None if match["weight"] is None else float(match["weight"])
    return _filled(found, text)


def _known(name: str, names: tuple[str, ...]) -> str:
    known = next((voice for voice in names if voice.casefold() == name.casefold()), None)
    if known is None:
        raise InvalidRequest(
            f'This {MANIFEST.name} model has no voice "{name[:40]}"; it has {", ".join(names)}.'
            + did_you_mean(name, names)
        )
    return known


def _filled(weights: Mapping[str, float | None], text: str) -> dict[str, float]:
    """The weights with those that nobody wrote."""
    left = 1.0 - math.fsum(weight for weight in weights.values() if weight is not None)
    unsaid = [name for name, weight in weights.items() if weight is None]
    default = left / len(unsaid) if unsaid and len(unsaid) < len(weights) and left > 0 else 1.0
    filled = {name: default if weight is None else weight for name, weight in weights.items()}
    if not math.fsum(filled.values()) > 0:
        raise InvalidRequest(f'The weights of the mixture "{text[:80]}" add up to 0; give one voice more.')
    return {name: weight for name, weight in filled.items() if weight > 0}
