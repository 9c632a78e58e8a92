"""The data that the English front end reads: dictionaries, tagger, tables, and the net for unknown words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor

DATA_FOLDER = Path(__file__).parent / "data"
"""The data shipped in the pack; its README says what each file is and where it is from."""

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class EnglishData:
    """The files of one data folder.

    Attributes:
        gold: Dictionary checked by hand, as `Dictionary` takes it.
        silver: Larger dictionary.
        tagger: As `Tagger` takes it.
        special: Written words -> their tokens.
        tables: Months, titles, units and so on, as `Normaliser` takes them.
        alphabet: Characters and phonemes of the net.
        oov: Weights of the net.
    """

    gold: Arrays
    silver: Arrays
    tagger: Arrays
    special: Mapping[str, list[str]]
    tables: Mapping[str, Any]
    alphabet: Mapping[str, Any]
    oov: Mapping[str, Tensor]

    @classmethod
    def read(cls, folder: str | Path) -> EnglishData:
        """The data in `folder`.

        Raises:
            FileNotFoundError: A file is missing.
        """
        folder = Path(folder)
        with torch.inference_mode(False):
            oov = load_file(folder / "oov.safetensors")
        return cls(
            gold=_arrays(folder / "lexicon_gold.npz"),
            silver=_arrays(folder / "lexicon_silver.npz"),
            tagger=_arrays(folder / "tagger.npz"),
            special=_json(folder / "tokenizer_exceptions.json"),
            tables=_json(folder / "normalize.json"),
            alphabet=_json(folder / "oov.json"),
            oov=oov,
        )


def _arrays(path: Path) -> Arrays:
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)


def _json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))
