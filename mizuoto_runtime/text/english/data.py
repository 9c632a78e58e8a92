"""The data that the English front end reads: dictionaries, tagger, tables, and the net for unknown words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor

DATA_FOLDER = Path(__file__).parent / "data"
"""The data shipped in the pack; its README says what each file is and where it is from."""

AccentName = Literal["us", "gb"]

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
        accent: Of dictionaries and net.
    """

    gold: Arrays
    silver: Arrays
    tagger: Arrays
    special: Mapping[str, list[str]]
    tables: Mapping[str, Any]
    alphabet: Mapping[str, Any]
    oov: Mapping[str, Tensor]
    accent: AccentName = "us"

    @classmethod
    def read(cls, folder: str | Path, accent: AccentName = "us") -> EnglishData:
        """The data of an accent in `folder`.

        Raises:
            FileNotFoundError: A file is missing.
        """
        folder, end = Path(folder), "" if accent == "us" else f"_{accent}"
        with torch.inference_mode(False):
            oov = {name: tensor.float() for name, tensor in load_file(folder / f"oov{end}.safetensors").items()}
        return cls(
            gold=_arrays(folder / f"lexicon_gold{end}.npz"),
            silver=_arrays(folder / f"lexicon_silver{end}.npz"),
            tagger=_arrays(folder / "tagger.npz"),
            special=_json(folder / "tokenizer_exceptions.json"),
            tables=_json(folder / "normalize.json"),
            alphabet=_json(folder / f"oov{end}.json"),
            oov=oov,
            accent=accent,
        )


def _arrays(path: Path) -> Arrays:
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)


def _json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))
