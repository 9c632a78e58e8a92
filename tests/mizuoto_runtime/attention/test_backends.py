import sys

import pytest
import torch
import torch.nn.functional as F
from mizuoto.mizuoto_runtime.attention.backends import BACKENDS, load, self_test
from mizuoto.mizuoto_runtime.attention.constraints import CallFacts

CPU = torch.device("cpu")
FACTS = CallFacts("cpu", torch.float16, 16)
ALL = {"flash": "flash_attn", "xformers": "xformers.ops", "sage": "sageattention"}


@pytest.fixture
def grouped(draw):
    return draw(2, 4, 5, 16, seed=1), draw(2, 2, 5, 16, seed=2), draw(2, 2, 5, 16, seed=3)


@pytest.mark.parametrize("name", ["sdpa", *ALL])
@pytest.mark.parametrize(("causal", "scale"), [(False, None), (True, None), (False, 0.3)])
def test_every_kernel_computes_attention(packages, grouped, name, causal, scale):
    packages.install(*ALL.values())
    found = load(BACKENDS[name])(*grouped, None, causal, scale)
    assert found.shape == (2, 4, 5, 16)
    expected = F.scaled_dot_product_attention(*grouped, is_causal=causal, scale=scale, enable_gqa=True)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("name", ["sdpa", "xformers"])
@pytest.mark.parametrize("kind", ["bool", "additive"])
@pytest.mark.parametrize("shape", [(2, 1, 5, 5), (5, 5), (1, 1, 1, 5)])
def test_masks(packages, grouped, name, kind, shape):
    packages.install(*ALL.values())
    mask = torch.ones(shape, dtype=torch.bool)
    mask[..., 0, 3:] = False
    if kind == "additive":
        mask = torch.zeros(shape, dtype=torch.float16).masked_fill(~mask, -torch.inf)
    found = load(BACKENDS[name])(*grouped, mask, False, None)
    expected = F.scaled_dot_product_attention(*grouped, mask, enable_gqa=True)
    torch.testing.assert_close(found, expected)


def test_layouts(packages, grouped):
    packages.install(*ALL.values())
    for name in ALL:
        load(BACKENDS[name])(*grouped, None, False, None)
    assert packages.calls == [
        ("flash", (2, 5, 4, 16), (2, 5, 2, 16), {"causal": False}),
        ("xformers", (2, 5, 4, 16), (2, 5, 4, 16), {"bias": None}),  # it has no shared key heads
        ("sage", (2, 4, 5, 16), (2, 2, 5, 16), {"layout": "HND"}),
    ]


def test_the_masks_of_xformers(packages, grouped):
    packages.install("xformers.ops")
    kernel = load(BACKENDS["xformers"])
    kernel(*grouped, None, True, None)
    assert type(packages.calls[-1][-1]["bias"]).__name__ == "LowerTriangularMask"
    kernel(*grouped, torch.ones(1, 1, 5, 5, dtype=torch.bool), False, None)
    bias = packages.calls[-1][-1]["bias"]
    assert (bias.shape, bias.dtype) == ((2, 4, 5, 5), torch.float16)
    assert bias.stride()[-2:] == (8, 1)  # rows begin aligned


def test_a_package_that_is_not_there():
    assert [load(BACKENDS[name]) for name in ALL] == ["not installed"] * 3


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import no_such_compiler", "ModuleNotFoundError: No module named 'no_such_compiler'"),
        ("raise OSError('undefined symbol: _ZN3c10')", "OSError: undefined symbol: _ZN3c10"),
        ("raise RuntimeError()", "RuntimeError: "),
        ("", "AttributeError: module 'flash_attn' has no attribute 'flash_attn_func'"),
    ],
)
def test_a_package_that_cannot_be_imported(tmp_path, monkeypatch, source, reason):
    (tmp_path / "flash_attn.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "flash_attn", raising=False)
    assert load(BACKENDS["flash"]) == f"installed but broken: {reason}"
    sys.modules.pop("flash_attn", None)


@pytest.mark.parametrize("name", ALL)
def test_a_right_kernel_passes_its_test(packages, name):
    packages.install(*ALL.values())
    assert self_test(BACKENDS[name], load(BACKENDS[name]), CPU, FACTS) == ""


def test_a_wrong_kernel_fails_its_test(packages):
    packages.install("flash_attn", flash_attn_func=lambda q, k, v, **_: v)
    reason = self_test(BACKENDS["flash"], load(BACKENDS["flash"]), CPU, FACTS)
    assert reason.startswith("installed but broken: its result is off by ")


def test_nan_fails_the_test(packages):
    packages.install("flash_attn", flash_attn_func=lambda q, k, v, **_: v * torch.nan)
    assert self_test(BACKENDS["flash"], load(BACKENDS["flash"]), CPU, FACTS).endswith("off by nan")


def test_a_kernel_that_raises_fails_its_test(packages):
    def raises(*_, **__):
        raise RuntimeError("no kernel image is available\nmore")

    packages.install("sageattention", sageattn=raises)
    reason = self_test(BACKENDS["sage"], load(BACKENDS["sage"]), CPU, FACTS)
    assert reason == "installed but broken: RuntimeError: no kernel image is available"


def test_memory_that_runs_out_in_the_test_says_nothing(packages):
    def raises(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory")

    packages.install("sageattention", sageattn=raises)
    with pytest.raises(torch.OutOfMemoryError):
        self_test(BACKENDS["sage"], load(BACKENDS["sage"]), CPU, FACTS)
