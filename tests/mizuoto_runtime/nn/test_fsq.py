import pytest
import torch
from mizuoto.mizuoto_runtime import ops
from mizuoto.mizuoto_runtime.nn.fsq import ScalarQuantizer

layers = pytest.importorskip("voxcpm.modules.layers")


@pytest.mark.parametrize("shape", [(1, 24), (1, 7, 24)])
def test_equals_the_upstream(shape):
    theirs = layers.ScalarQuantizationLayer(24, 24, 12, 9).eval()
    ops.init_random(theirs, torch.Generator().manual_seed(0), std=0.5)
    ours = ScalarQuantizer(24, 12, 9)
    ours.load_state_dict(theirs.state_dict())
    hidden = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    assert torch.equal(ours(hidden), theirs(hidden))


def test_everything_is_one_of_a_few_levels():
    quantizer = ScalarQuantizer(3, 3, 2).requires_grad_(False)
    for layer in (quantizer.in_proj, quantizer.out_proj):
        layer.weight.copy_(torch.eye(3))
        layer.bias.zero_()
    found = quantizer(torch.linspace(-9, 9, 300).view(100, 3))
    assert sorted(set(found.flatten().tolist())) == [-1.0, -0.5, 0.0, 0.5, 1.0]
