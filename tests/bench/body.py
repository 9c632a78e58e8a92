"""A Qwen3-like decoder body with random weights, and the clocks that benches time it with."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from ...mizuoto_runtime import ops
from ...mizuoto_runtime.attention import Site, attend
from ...mizuoto_runtime.device import CPU, DeviceService
from ...mizuoto_runtime.memory.pack import Pack
from ...mizuoto_runtime.memory.ring import CopyQueue, Ring, Slot, SyncQueue
from ...mizuoto_runtime.memory.streamer import Gate, Streamer
from ...mizuoto_runtime.memory.units import layout_of


@dataclass(frozen=True)
class Shape:
    """Numbers of a body; three times the width inside, as many heads as fit, half of them for keys."""

    width: int = 128
    num_layers: int = 12
    head_dim: int = 64

    @property
    def site(self) -> Site:
        heads = self.width // self.head_dim
        return Site("bench:body", heads, self.head_dim, max(1, heads // 2))


class RMSNorm(nn.Module):
    """Root mean square norm in fp32."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        wide = hidden.float()
        wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)
        return self.weight * wide.to(hidden.dtype)


class Layer(nn.Module):
    """Attention and feed-forward with their norms; `linear` makes its seven matrices."""

    def __init__(self, shape: Shape, linear: Callable[..., nn.Module]) -> None:
        super().__init__()
        site, width = shape.site, shape.width
        self.site = site
        self.q_proj = linear(width, site.num_heads * site.head_dim, bias=False)
        self.k_proj = linear(width, site.kv_heads * site.head_dim, bias=False)
        self.v_proj = linear(width, site.kv_heads * site.head_dim, bias=False)
        self.o_proj = linear(site.num_heads * site.head_dim, width, bias=False)
        self.gate_proj = linear(width, 3 * width, bias=False)
        self.up_proj = linear(width, 3 * width, bias=False)
        self.down_proj = linear(3 * width, width, bias=False)
        self.attention_norm, self.inner_norm = RMSNorm(width), RMSNorm(width)
        self.q_norm, self.k_norm = RMSNorm(site.head_dim), RMSNorm(site.head_dim)

    def forward(self, hidden: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        normed = self.attention_norm(hidden)
        query, key, value = (
            projection(normed).unflatten(-1, (-1, self.site.head_dim)).transpose(1, 2)
            for projection in (self.q_proj, self.k_proj, self.v_proj)
        )
        query, key = rotated(self.q_norm(query), cos, sin), rotated(self.k_norm(key), cos, sin)
        attended = attend(query, key, value, site=self.site, causal=hidden.shape[1] > 1)
        hidden = hidden + self.o_proj(attended.transpose(1, 2).flatten(2))
        normed = self.inner_norm(hidden)
        return hidden + self.down_proj(F.silu(self.gate_proj(normed)) * self.up_proj(normed))


class Body(nn.Module):
    """Layers and a last norm, from [B, T, width] to [B, T, width]; every layer is a unit, whatever its size."""

    def __init__(self, shape: Shape, linear: Callable[..., nn.Module] = ops.Linear) -> None:
        super().__init__()
        self.head_dim = shape.head_dim
        self.norm = RMSNorm(shape.width)  # the first parameter stays in place, and is a small one so
        self.layers = nn.ModuleList(Layer(shape, linear) for _ in range(shape.num_layers))

    def memory_units(self) -> list[str]:
        return [f"layers.{index}" for index in range(len(self.layers))]

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        cos, sin = rotary(hidden.shape[1], self.head_dim, hidden)
        for layer in self.layers:
            hidden = layer(hidden, cos, sin)
        return self.norm(hidden)


def rotary(num_positions: int, head_dim: int, like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines, [T, head_dim]."""
    inverse = 1e6 ** (torch.arange(0, head_dim, 2, device=like.device) / -head_dim)
    angles = torch.arange(num_positions, device=like.device)[:, None] * inverse
    angles = torch.cat([angles, angles], -1)
    return angles.cos().to(like.dtype), angles.sin().to(like.dtype)


def rotated(heads: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """`heads`, [B, H, T, D], turned by their positions."""
    first, second = heads.chunk(2, -1)
    return heads * cos + torch.cat([-second, first], -1) * sin


def built(shape: Shape, linear: Callable[..., nn.Module] = ops.Linear, dtype: torch.dtype = torch.float32) -> Body:
    """A body whose weights are always the same random ones."""
    with torch.device("meta"):
        body = Body(shape, linear)
    body = body.to_empty(device="cpu")
    ops.init_random(body, torch.Generator().manual_seed(0))
    return body.to(dtype).eval().requires_grad_(False)


def example(shape: Shape, num_tokens: int = 1, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """An input of it, [1, T, width]."""
    return torch.randn(1, num_tokens, shape.width, generator=torch.Generator().manual_seed(1)).to(dtype)


class NoCopyQueue(SyncQueue):
    """Moves no byte: the slot becomes the place where the bytes already are."""

    def issue(self, slot: Slot, source: torch.Tensor) -> None:
        slot.buffer = source


def streamed(body: nn.Module, queue: CopyQueue | None = None, num_slots: int = 1) -> Streamer:
    """Stream every unit of `body` on the CPU; the hooks keep the streamer alive."""
    packs = [Pack(unit, is_strict=False) for unit in layout_of(body, None).units]
    ring = Ring(num_slots, max(pack.num_bytes for pack in packs), CPU, DeviceService())
    return Streamer(packs, ring, queue or SyncQueue(), Gate())


def check_equal(body: Callable[[torch.Tensor], torch.Tensor], hidden: torch.Tensor, expected: torch.Tensor) -> None:
    """Raise unless two runs give exactly `expected`: the first learns the order, the second follows it."""
    for _ in range(2):
        with torch.inference_mode():
            if not torch.equal(body(hidden), expected):
                raise AssertionError(f"{type(body).__name__} gives another output")


def best_s(functions: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The least CPU time of this thread that each function took, all of them called in every round."""
    best = dict.fromkeys(functions, float("inf"))
    for number in range(rounds + 3):
        for name, function in functions.items():
            start = time.thread_time()
            function()
            if number >= 3:
                best[name] = min(best[name], time.thread_time() - start)
    return best


def row(name: str, what: str, ours: float, other: float | None, bar: float, *, ratio: float | None = None) -> dict:
    """A row of a bench whose ratio must not exceed its bar; without `other` the ratio is ours."""
    if ratio is None:
        ratio = ours / other if other else ours
    return {"id": name, "what": what, "ours": ours, "other": other, "ratio": ratio, "bar": bar, "holds": ratio <= bar}
