"""The oracle: the ONNX graph of the wheel `hibari-tts`, rebuilt with its own weights in float."""

import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from mizuoto.engines.hibari import keys
from mizuoto.engines.hibari.codec import CodecDecoder
from mizuoto.engines.hibari.talker import Talker
from mizuoto.mizuoto_runtime.loading.keys import load_into
from mizuoto.mizuoto_runtime.loading.safetensors import read_safetensors
from onnx import helper, numpy_helper

ASSETS = Path(keys.__file__).parent / "assets"
SPECTRA = ("lh", "theta", "ln", "lr", "phi")


class WheelGraph:
    """The wheel's graph: its weights in float by name, and a float session without dynamic quantisation."""

    def __init__(self, path: Path) -> None:
        self.model = onnx.load(str(path))
        self.tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in self.model.graph.initializer}
        self.producers = {name: node for node in self.model.graph.node for name in node.output}
        self.consumers: dict[str, list[onnx.NodeProto]] = {}
        for node in self.model.graph.node:
            for name in node.input:
                self.consumers.setdefault(name, []).append(node)

    def products(self) -> list[tuple[onnx.NodeProto, np.ndarray]]:
        """Every quantised matrix product and its matrix in float, [in, out]."""
        return [(node, self._dequantised(node)) for node in self.model.graph.node if node.op_type == "MatMulInteger"]

    def _dequantised(self, product: onnx.NodeProto) -> np.ndarray:
        matrix, zero = self.tensors[product.input[1]], self.tensors[product.input[3]]
        scale = self.tensors[product.input[1].replace("_quantized", "_scale")]
        return (matrix.astype(np.float32) - zero.astype(np.float32)) * scale

    def _only_consumer(self, node: onnx.NodeProto, op_type: str) -> onnx.NodeProto:
        (consumer,) = self.consumers[node.output[0]]
        assert consumer.op_type == op_type
        return consumer

    def rescaled(self, product: onnx.NodeProto) -> onnx.NodeProto:
        """The node that ends the chain product -> cast -> scale."""
        return self._only_consumer(self._only_consumer(product, "Cast"), "Mul")

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Float32 weights under the graph's names; a matrix has none there and is named after its bias."""
        state = {
            name: torch.from_numpy(array.astype(np.float32))
            for name, array in self.tensors.items()
            if name.startswith(("m.", "pn."))
        }
        for product, matrix in self.products():
            added = self._only_consumer(self.rescaled(product), "Add")
            bias = next(name for name in added.input if name in self.tensors)
            state[bias.removesuffix("bias") + "weight"] = torch.from_numpy(matrix.T.copy())
        return state

    def float_session(self) -> onnxruntime.InferenceSession:
        """The same graph with every quantised product computed in float; it also gives the durations, last."""
        graph = self.model.graph
        replaced, dropped, matrices = {}, set(), []
        for index, (product, matrix) in enumerate(self.products()):
            quantise, rescale = self.producers[product.input[0]], self.rescaled(product)
            assert quantise.op_type == "DynamicQuantizeLinear"
            matrices.append(numpy_helper.from_array(matrix, f"float_matrix_{index}"))
            operands = [quantise.input[0], f"float_matrix_{index}"]
            replaced[rescale.output[0]] = helper.make_node("MatMul", operands, [rescale.output[0]])
            dropped |= {quantise.output[0], product.output[0]}
            dropped |= set(rescale.input)
        nodes = [
            replaced.get(node.output[0], node)
            for node in graph.node
            if node.output[0] in replaced or not dropped.intersection(node.output)
        ]
        (running_sum,) = (node for node in graph.node if node.op_type == "CumSum")
        durations = helper.make_tensor_value_info(running_sum.input[0], onnx.TensorProto.INT64, None)
        outputs = [*graph.output, durations]
        rebuilt = helper.make_graph(nodes, "float", graph.input, outputs, [*graph.initializer, *matrices])
        model = helper.make_model(rebuilt, opset_imports=self.model.opset_import, ir_version=self.model.ir_version)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


@dataclass(frozen=True)
class Golden:
    """What the float graph says of one utterance."""

    spectra: list[torch.Tensor]  # [F, bins] each
    f0: torch.Tensor  # [1, F]
    durations: torch.Tensor  # [1, T]


@pytest.fixture(scope="session")
def wheel():
    return WheelGraph(Path(str(files("hibari") / "assets" / "hibari.onnx")))


@pytest.fixture(scope="session")
def wheel_state(wheel):
    return wheel.state_dict()


@pytest.fixture(scope="session")
def golden(wheel):
    session = wheel.float_session()

    def run(text_ids: torch.Tensor, speed: float) -> Golden:
        *spectra, f0, durations = session.run(None, {"ids": text_ids.numpy(), "speed": np.array([speed], np.float32)})
        rows = [torch.from_numpy(part[0]).t() for part in spectra]
        return Golden(rows, torch.from_numpy(f0), torch.from_numpy(durations)[None])

    return run


def build(module, component, state):
    places = {keys.rename(key): tensor for key, tensor in state.items()}
    own = {place[1]: tensor for place, tensor in places.items() if place[0] == component}
    load_into(module, own, "the test's weights")
    return module.eval().requires_grad_(False)


@pytest.fixture(scope="session")
def wheel_talker(wheel_state):
    return build(Talker(), "talker", wheel_state)


@pytest.fixture(scope="session")
def wheel_decoder(wheel_state):
    return build(CodecDecoder(), "decoder", wheel_state)


@pytest.fixture(scope="session")
def shipped():
    return dict(read_safetensors(ASSETS / "hibari_heart.f16.safetensors", torch.float32))


@pytest.fixture(scope="session")
def talker(shipped):
    return build(Talker(), "talker", shipped)


@pytest.fixture(scope="session")
def decoder(shipped):
    return build(CodecDecoder(), "decoder", shipped)


@pytest.fixture(scope="session")
def ids_of():
    vocab = json.loads((ASSETS / "vocab.json").read_text(encoding="utf-8"))
    return lambda phonemes: torch.tensor([[0, *(vocab[phoneme] for phoneme in phonemes), 0]])


@pytest.fixture(autouse=True)
def _no_grad():
    with torch.inference_mode():
        yield
