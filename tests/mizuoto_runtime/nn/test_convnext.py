import pytest
import torch
import torch.nn.functional as F
from mizuoto.mizuoto_runtime import ops
from mizuoto.mizuoto_runtime.nn.convnext import ConvNeXtBlock, ConvNeXtV2Block


@pytest.mark.parametrize("has_gamma", [True, False])
@pytest.mark.parametrize(("kernel_size", "dilation"), [(7, 1), (5, 1), (7, 4)])
def test_equals_the_formula_with_time_last(kernel_size, dilation, has_gamma):
    block = ConvNeXtBlock(6, 10, kernel_size, dilation, norm_eps=0.1, has_gamma=has_gamma)
    ops.init_random(block, torch.Generator().manual_seed(0), std=0.5)
    hidden = torch.randn(2, 13, 6, generator=torch.Generator().manual_seed(1))
    conv, padding = block.depthwise, kernel_size // 2 * dilation
    with torch.no_grad():
        branch = F.conv1d(hidden.mT, conv.weight, conv.bias, padding=padding, dilation=dilation, groups=6).mT
        branch = F.layer_norm(branch, (6,), block.norm.weight, block.norm.bias, eps=0.1)
        branch = block.project(F.gelu(block.expand(branch)))
        expected = hidden + (block.gamma * branch if has_gamma else branch)
        torch.testing.assert_close(block(hidden), expected)


def test_without_gamma_there_is_no_such_key():
    assert "gamma" in ConvNeXtBlock(4, 8).state_dict()
    assert "gamma" not in ConvNeXtBlock(4, 8, has_gamma=False).state_dict()


@torch.no_grad()
@pytest.mark.parametrize(("channels", "steps"), [(32, 50), (512, 61)])
def test_the_exact_forms_equal_upstreams(channels, steps):
    from mizuoto.tests.engines.f5_tts import oracle

    pairs = [
        (ConvNeXtBlock(channels, 3 * channels, is_exact=True), oracle.ConvNeXtBlock(channels, 3 * channels, 0.1)),
        (ConvNeXtV2Block(channels, 2 * channels), oracle.modules.ConvNeXtV2Block(channels, 2 * channels)),
    ]
    names = {"depthwise": "dwconv", "expand": "pwconv1", "project": "pwconv2", "response": "grn"}
    hidden = torch.randn(1, steps, channels, generator=torch.Generator().manual_seed(1))
    for (ours, theirs), is_time_last in zip(pairs, (True, False), strict=True):
        ops.init_random(ours, torch.Generator().manual_seed(0), std=0.2)
        state = {name: tensor.clone() for name, tensor in ours.state_dict().items()}
        theirs.load_state_dict(
            {".".join(names.get(part, part) for part in name.split(".")): tensor for name, tensor in state.items()}
        )
        expected = theirs(hidden.mT).mT if is_time_last else theirs(hidden)
        assert torch.equal(ours(hidden), expected)
