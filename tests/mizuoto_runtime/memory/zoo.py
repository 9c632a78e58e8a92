"""Modules of every structure that a real checkpoint may have, small enough for tests: a layer of a unit has 1 MiB."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from ....mizuoto_runtime import ops
from ....mizuoto_runtime.device import DeviceService
from ....mizuoto_runtime.memory.handle import ModelHandle
from ....mizuoto_runtime.memory.policy import VramPolicy
from ....mizuoto_runtime.memory.units import pin_to_cpu

WIDTH = 512
UNIT = 4 * WIDTH * WIDTH  # bytes of a layer's weight: exactly the least that makes a child of a list a unit


def linear():
    return ops.Linear(WIDTH, WIDTH)


class Chain(nn.Module):
    """A norm, which has the first parameter, then layers one after the other."""

    def __init__(self, layers):
        super().__init__()
        self.norm = ops.LayerNorm(WIDTH)
        self.layers = layers if isinstance(layers, nn.Module) else nn.ModuleList(layers)

    def forward(self, hidden):
        hidden = self.norm(hidden)
        for layer in self.layers:
            hidden = layer(hidden)
        return hidden


class Branches(Chain):
    """Which layers run depends on the input."""

    def forward(self, hidden):
        hidden = self.norm(hidden)
        return self.layers[0](hidden) if hidden.sum() > 0 else self.layers[1](hidden)


class ReadsWeights(Chain):
    """Uses the weight of a layer without calling the layer."""

    def forward(self, hidden):
        return super().forward(hidden) @ self.layers[0].weight.t()


class Wrapper(nn.Module):
    """Has the chain below it, and its layers by a second path."""

    def __init__(self, chain):
        super().__init__()
        self.inner = chain
        self.alias = nn.ModuleDict({"layers": chain.layers})

    def forward(self, hidden):
        return self.inner(hidden)


class Tied(nn.Module):
    """Embedding and head share one weight, and the head is in a list."""

    def __init__(self):
        super().__init__()
        self.embedding = ops.Embedding(WIDTH, WIDTH)
        self.layers = nn.ModuleList([linear(), ops.Linear(WIDTH, WIDTH, bias=False)])
        self.layers[1].weight = self.embedding.weight

    def forward(self, hidden):
        ids = (hidden.abs() * 50).long().clamp(max=WIDTH - 1)
        return self.layers[1](self.layers[0](self.embedding(ids).mean(1)))


class Pair(nn.Module):
    """Two layers of which either may be somebody else's."""

    def __init__(self, first, second):
        super().__init__()
        self.first, self.second = first, second

    def forward(self, hidden):
        return self.second(self.first(hidden))


class Named(Chain):
    """Says itself what its units are."""

    def memory_units(self):
        return ["layers.0", "layers.2"]


class Scale(nn.Module):
    """A weight that no standard layer owns, and a buffer of the same size."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(WIDTH, WIDTH))
        self.register_buffer("table", torch.linspace(0, 1, WIDTH * WIDTH).view(WIDTH, WIDTH))

    def forward(self, hidden):
        return hidden @ (self.weight * self.table)


class StreamableScale(Scale):
    STREAMABLE = True


class BufferWeight(nn.Module):
    """A streamable class whose weight is a buffer, as quantised layers have."""

    STREAMABLE = True

    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.full((WIDTH, WIDTH), 0.01))
        self.bias = nn.Parameter(torch.empty(WIDTH * WIDTH))

    def forward(self, hidden):
        return hidden @ self.weight + self.bias[:WIDTH]


class Small(nn.Module):
    """A child of more than 1 MB of which less than 64 KB could be streamed."""

    def __init__(self):
        super().__init__()
        self.table = ops.Embedding(2 * WIDTH, WIDTH)
        self.squeeze, self.widen = ops.Linear(WIDTH, 8), ops.Linear(8, WIDTH)

    def forward(self, hidden):
        return self.widen(self.squeeze(hidden)) + self.table.weight[0]


class Convolutions(nn.Module):
    """One layer of each convolution class that may be a unit."""

    def __init__(self):
        super().__init__()
        self.norm = ops.LayerNorm(WIDTH)
        flat, image = (WIDTH, WIDTH, 1), (WIDTH, WIDTH, (1, 1))
        kinds = [ops.Conv1d(*flat), ops.ConvTranspose1d(*flat), ops.Conv2d(*image), nn.ConvTranspose2d(*image)]
        self.layers = nn.ModuleList(kinds)

    def forward(self, hidden):
        hidden = self.norm(hidden)[:, :, None]
        hidden = self.layers[1](self.layers[0](hidden))[..., None]
        return self.layers[3](self.layers[2](hidden)).flatten(1)


class Recurrent(Chain):
    """A layer whose weights have other names, and that keeps a list of them beside the usual dictionaries."""

    def __init__(self):
        super().__init__([linear(), nn.LSTM(WIDTH, WIDTH)])

    def forward(self, hidden):
        return self.layers[1](self.layers[0](self.norm(hidden)))[0]


class PartlyOnCpu(Chain):
    """Has a part that never leaves the CPU."""

    def __init__(self):
        super().__init__([linear(), linear()])
        self.aside = pin_to_cpu(nn.Sequential(linear()))

    def forward(self, hidden):
        return super().forward(hidden) + self.aside(hidden)


class Weightless(nn.Module):
    """Nothing to move."""

    def forward(self, hidden):
        return hidden.square()


def _shared_weight():
    layers = [linear(), linear(), linear()]
    layers[1].weight = layers[0].weight
    return Chain(layers)


def _shared_inside():
    block = Pair(linear(), linear())
    block.second.weight = block.first.weight
    return Chain([linear(), block])


def _shared_layer():
    shared = linear()
    return Chain([Pair(linear(), shared), Pair(linear(), shared)])


def _reused():
    layer = linear()
    return Chain([layer, linear(), layer])


def _nested():
    return Chain([nn.Sequential(linear(), linear()), nn.Sequential(nn.Sequential(linear()))])


@dataclass(frozen=True)
class Species:
    """How to build it and which units it must have: name -> bytes."""

    build: Callable[[], nn.Module]
    units: dict[str, int]


ZOO = {
    "chain": Species(
        lambda: Chain([linear() for _ in range(3)]), {"layers.0": UNIT, "layers.1": UNIT, "layers.2": UNIT}
    ),
    "sequential": Species(
        lambda: Chain(nn.Sequential(linear(), nn.GELU(), linear())), {"layers.0": UNIT, "layers.2": UNIT}
    ),
    # The first parameter of all stays: code asks it for the device.
    "first_parameter": Species(lambda: nn.Sequential(linear(), linear()), {"1": UNIT}),
    "nested": Species(_nested, {"layers.0": 2 * UNIT, "layers.1": UNIT}),
    "two_paths": Species(
        lambda: Wrapper(Chain([linear(), linear()])), {"inner.layers.0": UNIT, "inner.layers.1": UNIT}
    ),
    "tied": Species(Tied, {"layers.0": UNIT}),
    "shared_weight": Species(_shared_weight, {"layers.2": UNIT}),
    "shared_inside": Species(_shared_inside, {"layers.0": UNIT, "layers.1": UNIT}),
    "shared_layer": Species(_shared_layer, {"layers.0": UNIT, "layers.1": UNIT}),
    "reused": Species(_reused, {"layers.0": UNIT, "layers.1": UNIT}),
    "branches": Species(lambda: Branches([linear(), linear()]), {"layers.0": UNIT, "layers.1": UNIT}),
    "reads_weights": Species(lambda: ReadsWeights([linear()]), {"layers.0": UNIT}),
    "named": Species(lambda: Named([linear() for _ in range(3)]), {"layers.0": UNIT, "layers.2": UNIT}),
    "not_streamable": Species(lambda: Chain([Scale(), linear()]), {"layers.1": UNIT}),
    "streamable": Species(lambda: Chain([StreamableScale(), linear()]), {"layers.0": UNIT, "layers.1": UNIT}),
    "buffer_weight": Species(lambda: Chain([BufferWeight()]), {}),
    "little_to_stream": Species(lambda: Chain([Small(), linear()]), {"layers.1": UNIT}),
    "small_children": Species(lambda: Chain([ops.Linear(WIDTH, WIDTH // 2), ops.Linear(WIDTH // 2, WIDTH)]), {}),
    "convolutions": Species(Convolutions, {f"layers.{index}": UNIT for index in range(4)}),
    "recurrent": Species(Recurrent, {"layers.0": UNIT}),
    "partly_on_cpu": Species(PartlyOnCpu, {"layers.0": UNIT, "layers.1": UNIT}),
    "weightless": Species(Weightless, {}),
}


def built(species):
    """The module with random weights that are the same every time."""
    module = (ZOO[species] if isinstance(species, str) else species).build().eval()
    ops.init_random(module, torch.Generator().manual_seed(1))
    return module


def chain(num_layers):
    """A chain of so many units, with weights."""
    return built(Species(lambda: Chain([linear() for _ in range(num_layers)]), {}))


def example():
    """Input of every module, [2, WIDTH]."""
    return torch.randn(2, WIDTH, generator=torch.Generator().manual_seed(2))


def simulated(num_bytes, strict=True):
    """Devices of which "cuda:0" has so many bytes and is played by the CPU; and that device."""
    devices = DeviceService({"cuda:0": num_bytes}, strict)
    return devices, torch.device("cuda", 0)


def handle_on(devices, module, name="zoo:module", keeps_host_copies=True, mode="auto", **options):
    """A handle on the simulated device."""
    policy = VramPolicy(mode, 0, 0, keeps_host_copies, num_transfers=2)
    return ModelHandle(name, module, torch.device("cuda", 0), devices, policy=policy, **options)


def resident(handle):
    """Names of the units on the device, in placement order."""
    return [pack.unit.name for pack in handle._resident]


def streaming(handle):
    """Names of the units that come through the ring; none while nothing streams."""
    return [pack.unit.name for pack in handle._streamer.packs] if handle._streamer else []
