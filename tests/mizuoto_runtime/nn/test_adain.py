import pytest
import torch
from mizuoto.mizuoto_runtime import ops
from mizuoto.mizuoto_runtime.nn.adain import AdaIN, AdaINBlock, AdaINSnakeBlock, AdaLayerNorm
from mizuoto.tests.engines.kokoro.oracle import kokoro

STYLE = 16
NAMES = {"shortcut": "conv1x1", "norms1": "adain1", "norms2": "adain2", "alphas1": "alpha1", "alphas2": "alpha2"}


def upstream(build, ours):
    """Upstream's module with our weights, weight norm taken off."""
    with torch.random.fork_rng(devices=[]):
        theirs = build()
    for module in theirs.modules():
        if hasattr(module, "weight_g"):
            torch.nn.utils.remove_weight_norm(module)
    renamed = {".".join(NAMES.get(part, part) for part in name.split(".")): t for name, t in ours.state_dict().items()}
    missing, unexpected = theirs.load_state_dict(renamed, strict=False)
    assert unexpected == []
    assert all(".norm." in f".{name}" for name in missing)
    return theirs.eval()


def randomised(module):
    ops.init_random(module, torch.Generator().manual_seed(0), std=0.2)
    return module.eval()


def hidden(*shape):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(shape, generator=generator), torch.randn(1, STYLE, generator=generator)


@pytest.mark.parametrize("length", [2, 63])
@torch.inference_mode()
def test_norms(length):
    ours = randomised(AdaIN(STYLE, 24))
    theirs = upstream(lambda: kokoro().istftnet.AdaIN1d(STYLE, 24), ours)
    values, style = hidden(1, 24, length)
    kept = values.clone()
    assert torch.equal(ours(values, style), theirs(values, style))
    assert torch.equal(values, kept)
    ours = randomised(AdaLayerNorm(STYLE, 24))
    theirs = upstream(lambda: kokoro().modules.AdaLayerNorm(STYLE, 24), ours)
    values, style = hidden(1, length, 24)
    assert torch.equal(ours(values, style), theirs(values, style))


@pytest.mark.parametrize(("after", "upsample"), [(24, False), (32, False), (24, True), (16, True)])
@torch.inference_mode()
def test_blocks(after, upsample):
    ours = randomised(AdaINBlock(24, after, STYLE, upsample))
    kind = True if upsample else "none"
    theirs = upstream(lambda: kokoro().istftnet.AdainResBlk1d(24, after, STYLE, upsample=kind), ours)
    for length in (2, 57):
        values, style = hidden(1, 24, length)
        kept = values.clone()
        assert torch.equal(ours(values, style), theirs(values, style))
        assert torch.equal(values, kept)


@torch.inference_mode()
def test_snake_blocks():
    ours = randomised(AdaINSnakeBlock(24, 7, (1, 3, 5), STYLE))
    theirs = upstream(lambda: kokoro().istftnet.AdaINResBlock1(24, 7, (1, 3, 5), STYLE), ours)
    for length in (20, 307):
        values, style = hidden(1, 24, length)
        kept = values.clone()
        assert torch.equal(ours(values, style), theirs(values, style))
        assert torch.equal(values, kept)
