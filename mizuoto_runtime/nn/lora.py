"""Low-rank adapters: small products that are added to those of linear layers while a request lasts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from .. import ops
from ..errors import ModelFileError


@dataclass(frozen=True, slots=True)
class Adapter:
    """What is added to one layer: `scale * (x A^T) B^T`.

    Attributes:
        down: A, [rank, in_features].
        up: B, [out_features, rank].
        scale: Strength.
    """

    down: torch.Tensor
    up: torch.Tensor
    scale: float

    def to(self, device: torch.device, dtype: torch.dtype) -> Adapter:
        """The same elsewhere."""
        return Adapter(self.down.to(device, dtype), self.up.to(device, dtype), self.scale)


class AdaptableLinear(ops.Linear):
    """`Linear` that a request may adapt; see `adapted`.

    Source: LoRALinear, voxcpm 2.0.3.
    """

    adapter: Adapter | None = None

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[..., in_features] -> [..., out_features]."""
        made = super().forward(hidden)
        if self.adapter is None:
            return made
        return made + F.linear(F.linear(hidden, self.adapter.down), self.adapter.up) * self.adapter.scale


def check_adapters(module: nn.Module, adapters: Mapping[str, Adapter], source: str) -> None:
    """Check that every adapter has a layer that it fits.

    Args:
        module: Holds the layers.
        adapters: Name of a layer in `module` -> what is added to it.
        source: The file, for messages.

    Raises:
        ModelFileError: One has none.
    """
    layers = _layers(module)
    for name, adapter in adapters.items():
        layer = layers.get(name)
        fits = layer is not None and (adapter.up.shape[0], adapter.down.shape[1]) == tuple(layer.weight.shape)
        if not fits or adapter.up.shape[1] != adapter.down.shape[0]:
            why = "which this model has not" if layer is None else "whose shape is another"
            raise ModelFileError(f'"{source}" adapts "{name}", {why}: it was trained for another model or version.')


@contextmanager
def adapted(
    module: nn.Module, adapters: Mapping[str, Adapter], device: torch.device, dtype: torch.dtype
) -> Iterator[None]:
    """In the block, `module` computes with `adapters`, which are moved to `device`. Nobody else may use it meanwhile.

    Args:
        module: Holds the layers.
        adapters: Name of a layer in `module` -> what is added to it; checked before.
        device: Where the layers compute.
        dtype: What they compute in.
    """
    layers = _layers(module) if adapters else {}
    changed = [layers[name] for name in adapters]
    try:
        for layer, adapter in zip(changed, adapters.values(), strict=True):
            layer.adapter = adapter.to(device, dtype)
        yield
    finally:
        for layer in changed:
            layer.adapter = None


def _layers(module: nn.Module) -> dict[str, AdaptableLinear]:
    return {name: part for name, part in module.named_modules() if isinstance(part, AdaptableLinear)}
