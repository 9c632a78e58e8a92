"""The kernels that can stand in for a reference: what each can do, and how its package is called.

A package is imported when a call first wants it; all take and give [B, H, T, D] here, whatever their own layout.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

import torch

from ..errors import is_oom
from .attend import sdpa
from .constraints import CallFacts, Constraints
from .sites import Kernel

_HALF = frozenset({torch.float16, torch.bfloat16})
_GPU = frozenset({"cuda"})
_TEST_TOKENS = 128


@dataclass(frozen=True, slots=True)
class Backend:
    """One kernel.

    Attributes:
        constraints: The calls it takes.
        load: Its function, after the import of its package; may raise anything.
        package: Import name; "" for torch's own.
        tolerance: Greatest difference from the formula that its self-test allows, in half precision.
    """

    constraints: Constraints
    load: Callable[[], Kernel]
    package: str = ""
    tolerance: float = 0.02


def _load_sdpa() -> Kernel:
    return sdpa


def _load_flash() -> Kernel:
    compute = importlib.import_module("flash_attn").flash_attn_func

    def flash(
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None,
        causal: bool,
        scale: float | None,
    ) -> torch.Tensor:
        query, key, value = (each.transpose(1, 2) for each in (query, key, value))
        mixed: torch.Tensor = compute(query, key, value, softmax_scale=scale, causal=causal)
        return mixed.transpose(1, 2)

    return flash


def _load_xformers() -> Kernel:
    ops = importlib.import_module("xformers.ops")
    compute, causal_mask = ops.memory_efficient_attention, ops.LowerTriangularMask

    def xformers(
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None,
        causal: bool,
        scale: float | None,
    ) -> torch.Tensor:
        bias = causal_mask() if causal else None if mask is None else _aligned_bias(mask, query, key)
        repeats = query.shape[1] // key.shape[1]
        if repeats > 1:
            key, value = key.repeat_interleave(repeats, 1), value.repeat_interleave(repeats, 1)
        query, key, value = (each.transpose(1, 2) for each in (query, key, value))
        mixed: torch.Tensor = compute(query, key, value, attn_bias=bias, scale=scale)
        return mixed.transpose(1, 2)

    return xformers


def _aligned_bias(mask: torch.Tensor, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """`mask` as xFormers wants it: additive, in the query's dtype, [B, H, T, S] with rows that start aligned."""
    (batch, heads, num_queries, _), num_keys = query.shape, key.shape[2]
    mask = mask[(None,) * (4 - mask.dim())].expand(-1, -1, num_queries, num_keys)
    row = -(-num_keys // 8) * 8
    bias = query.new_zeros(*mask.shape[:-1], row)[..., :num_keys]
    bias = bias.masked_fill_(~mask, -torch.inf) if mask.dtype == torch.bool else bias.copy_(mask)
    return bias.expand(batch, heads, -1, -1)


def _load_sage() -> Kernel:
    compute = importlib.import_module("sageattention").sageattn

    def sage(
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None,
        causal: bool,
        scale: float | None,
    ) -> torch.Tensor:
        mixed: torch.Tensor = compute(query, key, value, tensor_layout="HND", is_causal=causal, sm_scale=scale)
        return mixed

    return sage


BACKENDS: dict[str, Backend] = {
    "sdpa": Backend(Constraints(masks=frozenset({"none", "bool", "additive"})), _load_sdpa),
    "flash": Backend(
        Constraints(
            device_types=_GPU,
            dtypes=_HALF,
            max_head_dim=256,
            head_dim_multiple=8,
            has_uneven_causal=False,  # it aligns the last query with the last key
            min_capability=(8, 0),
        ),
        _load_flash,
        "flash_attn",
    ),
    "xformers": Backend(
        Constraints(
            device_types=_GPU,
            dtypes=_HALF | {torch.float32},
            head_dim_multiple=8,
            masks=frozenset({"none", "bool", "additive"}),
            min_capability=(6, 0),
        ),
        _load_xformers,
        "xformers",
    ),
    "sage": Backend(
        Constraints(
            device_types=_GPU,
            dtypes=_HALF,
            max_head_dim=128,
            head_dim_multiple=8,
            has_uneven_causal=False,
            is_exact=False,
            has_backward=False,
            min_capability=(8, 0),
        ),
        _load_sage,
        "sageattention",
        tolerance=0.1,
    ),
}


def load(backend: Backend) -> Kernel | str:
    """The backend's function, or why there is none; any error of its package is an answer, not a crash."""
    try:
        return backend.load()
    except Exception as error:  # noqa: BLE001 - a broken build raises whatever it likes
        if isinstance(error, ModuleNotFoundError) and error.name == backend.package:
            return "not installed"
        return f"installed but broken: {brief(error)}"


def self_test(backend: Backend, kernel: Kernel, device: torch.device, call: CallFacts) -> str:
    """Why `kernel` does not compute attention on `device` in the call's dtype and head width; "" when it does.

    Raises:
        Exception: The device is out of memory, which says nothing about the kernel.
    """
    draws = torch.Generator().manual_seed(0)
    shape = (1, 2, _TEST_TOKENS, call.head_dim)
    query, key, value = (torch.randn(shape, generator=draws).to(device, call.dtype) for _ in range(3))
    try:
        with torch.inference_mode():
            mixed = kernel(query, key, value, None, False, None)
            difference = float((mixed.float() - _by_formula(query, key, value)).abs().max())
    except Exception as error:
        if is_oom(error):
            raise
        return f"installed but broken: {brief(error)}"
    if difference <= backend.tolerance:
        return ""
    return f"installed but broken: its result is off by {difference:.3g}"


def brief(error: Exception) -> str:
    """Class and first line of an error."""
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def _by_formula(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    query, key, value = query.float(), key.float(), value.float()
    weights = (query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5).softmax(-1)
    return weights @ value
