"""Stand-ins for the attention packages: they note the layout they were given and compute by torch's attention."""

import sys
import types
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from mizuoto.mizuoto_runtime.attention.backends import BACKENDS


class LowerTriangularMask:
    """Like xFormers' class: a causal mask that starts at the first key."""


class Packages:
    """The fakes; `calls` holds (package, shape of query, shape of key, further arguments)."""

    def __init__(self, monkeypatch):
        self._monkeypatch, self.calls, self.error = monkeypatch, [], None

    def names(self):
        return [call[0] for call in self.calls]

    def note(self, package, query, key, **arguments):
        self.calls.append((package, tuple(query.shape), tuple(key.shape), arguments))
        # A self-test has 128 tokens: errors are those of real calls.
        if self.error is not None and 128 not in query.shape:
            raise self.error

    def flash_attn_func(self, q, k, v, dropout_p=0.0, softmax_scale=None, causal=False):
        self.note("flash", q, k, causal=causal)
        q, k, v = (each.transpose(1, 2) for each in (q, k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=softmax_scale, enable_gqa=True)
        return mixed.transpose(1, 2)

    def memory_efficient_attention(self, query, key, value, attn_bias=None, p=0.0, scale=None):
        self.note("xformers", query, key, bias=attn_bias)
        q, k, v = (each.transpose(1, 2) for each in (query, key, value))
        is_causal = isinstance(attn_bias, LowerTriangularMask)
        mask = None if is_causal else attn_bias
        return F.scaled_dot_product_attention(q, k, v, mask, 0.0, is_causal, scale=scale).transpose(1, 2)

    def sageattn(self, q, k, v, tensor_layout="HND", is_causal=False, sm_scale=None):
        self.note("sage", q, k, layout=tensor_layout)
        return F.scaled_dot_product_attention(q, k, v, is_causal=is_causal, scale=sm_scale, enable_gqa=True)

    def install(self, *packages, **functions):
        """Make these packages importable, with other functions where given."""
        contents = {
            "flash_attn": {"flash_attn_func": self.flash_attn_func},
            "xformers.ops": {
                "memory_efficient_attention": self.memory_efficient_attention,
                "LowerTriangularMask": LowerTriangularMask,
            },
            "sageattention": {"sageattn": self.sageattn},
        }
        for package in packages:
            module = types.ModuleType(package)
            vars(module).update({name: functions.get(name, f) for name, f in contents[package].items()})
            if "." in package:
                self._monkeypatch.setitem(sys.modules, package.partition(".")[0], types.ModuleType("parent"))
            self._monkeypatch.setitem(sys.modules, package, module)


@pytest.fixture
def packages(monkeypatch):
    return Packages(monkeypatch)


@pytest.fixture(scope="session")
def on_cpu():
    """The real table, but for the devices: what can be tried here."""
    return {
        name: replace(
            backend,
            constraints=replace(backend.constraints, device_types=frozenset({"cpu"}), min_capability=None),
        )
        for name, backend in BACKENDS.items()
    }


@pytest.fixture
def draw():
    def drawn(*shape, seed=0, dtype=torch.float16):
        return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)

    return drawn
