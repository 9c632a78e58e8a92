import ast
import math
from pathlib import Path

import mizuoto
import pytest
import torch
import torch.nn.functional as F
from mizuoto.mizuoto_runtime.attention import Site, attend

SITE = Site("test:site", num_heads=4, head_dim=8)


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def by_hand(query, key, value, scale, mask=None):
    scores = query @ key.transpose(-1, -2) * scale
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.softmax(scores, dim=-1) @ value


@pytest.fixture
def tensors():
    return draw(2, 4, 5, 8, seed=1), draw(2, 4, 7, 8, seed=2), draw(2, 4, 7, 8, seed=3)


@pytest.mark.parametrize("scale", [None, 0.2])
def test_equals_softmax_by_hand(tensors, scale):
    torch.testing.assert_close(attend(*tensors, site=SITE, scale=scale), by_hand(*tensors, scale or 8**-0.5))


def test_mask_hides_positions(tensors):
    mask = torch.ones(1, 1, 5, 7, dtype=torch.bool)
    mask[..., 3:] = False
    expected = by_hand(*tensors, 8**-0.5, mask)
    torch.testing.assert_close(attend(*tensors, site=SITE, mask=mask), expected)
    additive = torch.zeros(1, 1, 5, 7).masked_fill(~mask, -math.inf)
    torch.testing.assert_close(attend(*tensors, site=SITE, mask=additive), expected)


def test_causal_hides_the_future():
    query, key, value = (draw(1, 4, 6, 8, seed=seed) for seed in (1, 2, 3))
    expected = by_hand(query, key, value, 8**-0.5, torch.ones(6, 6, dtype=torch.bool).tril())
    torch.testing.assert_close(attend(query, key, value, site=SITE, causal=True), expected)


def test_key_heads_are_shared_by_neighbouring_query_heads():
    site = Site("test:grouped", num_heads=4, head_dim=8, num_kv_heads=2)
    query, key, value = draw(1, 4, 5, 8, seed=1), draw(1, 2, 5, 8, seed=2), draw(1, 2, 5, 8, seed=3)
    expected = by_hand(query, key.repeat_interleave(2, 1), value.repeat_interleave(2, 1), 8**-0.5)
    torch.testing.assert_close(attend(query, key, value, site=site), expected)


@pytest.mark.parametrize("num_kv_heads", [0, 2])
@pytest.mark.parametrize("causal", [False, True])
def test_the_default_is_torchs_own_bit_for_bit(num_kv_heads, causal):
    site = Site("test:own", num_heads=4, head_dim=8, num_kv_heads=num_kv_heads)
    tensors = draw(1, 4, 6, 8), draw(1, site.kv_heads, 6, 8, seed=1), draw(1, site.kv_heads, 6, 8, seed=2)
    expected = F.scaled_dot_product_attention(*tensors, is_causal=causal, enable_gqa=num_kv_heads > 0)
    assert torch.equal(attend(*tensors, site=site, causal=causal), expected)


def test_an_own_reference_gets_everything():
    seen = []
    site = Site("test:own", 4, 8, reference=lambda *arguments: seen.append(arguments) or arguments[0])
    query, key, value, mask = (draw(1, 4, 6, 8, seed=seed) for seed in range(4))
    assert attend(query, key, value, site=site, mask=mask, scale=0.5) is query
    assert seen == [(query, key, value, mask, False, 0.5)]


def test_sdpa_is_called_in_one_file_only():
    root = Path(mizuoto.__path__[0])
    callers = {
        path.relative_to(root).as_posix()
        for folder in ("mizuoto_runtime", "engines", "nodes")
        for path in (root / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "scaled_dot_product_attention"
    }
    assert callers == {"mizuoto_runtime/attention/attend.py"}
