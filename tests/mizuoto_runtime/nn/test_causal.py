import pytest
import torch
from mizuoto.mizuoto_runtime import ops
from mizuoto.mizuoto_runtime.nn.causal import CausalConv1d, CausalConvTranspose1d
from transformers.models.mimi.configuration_mimi import MimiConfig
from transformers.models.mimi.modeling_mimi import MimiConv1d


def filled(module, seed=0):
    ops.init_random(module, torch.Generator().manual_seed(seed))
    return module.requires_grad_(False)


def noise(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize("pad_mode", ["constant", "replicate"])
@pytest.mark.parametrize("length", [1, 2, 5, 30])
@pytest.mark.parametrize(
    ("kernel_size", "stride", "dilation"), [(7, 1, 1), (3, 1, 9), (4, 2, 1), (16, 8, 1), (1, 1, 1)]
)
def test_equals_mimi(kernel_size, stride, dilation, length, pad_mode):
    conv = filled(CausalConv1d(4, 6, kernel_size, stride, dilation, pad_mode=pad_mode))
    reference = MimiConv1d(MimiConfig(), 4, 6, kernel_size, stride, dilation, pad_mode=pad_mode)
    reference.conv.load_state_dict(conv.state_dict())
    hidden = noise(2, 4, length)
    found = conv(hidden)
    assert found.shape == (2, 6, -(-length // stride))
    assert torch.equal(found, reference(hidden))


def test_the_future_is_not_seen():
    conv, up = filled(CausalConv1d(3, 3, 5, dilation=2)), filled(CausalConvTranspose1d(3, 3, 6, 3))
    hidden = noise(1, 3, 20)
    changed = hidden.clone()
    changed[..., 12:] += 1
    assert torch.equal(conv(hidden)[..., :12], conv(changed)[..., :12])
    assert torch.equal(up(hidden)[..., :36], up(changed)[..., :36])


@pytest.mark.parametrize(("kernel_size", "stride"), [(2, 2), (16, 8), (6, 3)])
def test_transposed_is_the_head_of_the_full_one(kernel_size, stride):
    conv = filled(CausalConvTranspose1d(4, 3, kernel_size, stride))
    hidden = noise(2, 4, 9)
    found = conv(hidden)
    full = torch.nn.functional.conv_transpose1d(hidden, conv.weight, conv.bias, stride)
    assert found.is_contiguous()
    assert torch.equal(found, full[..., : 9 * stride])
