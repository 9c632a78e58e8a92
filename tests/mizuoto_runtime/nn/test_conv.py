import pytest
import torch
import torch.nn.functional as F
from mizuoto.mizuoto_runtime import ops
from mizuoto.mizuoto_runtime.nn.conv import ChannelsLastConv1d


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("steps", [1, 2, 7, 40])
@pytest.mark.parametrize("dilation", [1, 2, 3, 8])
@pytest.mark.parametrize(("kernel_size", "depthwise"), [(1, False), (3, False), (5, True), (7, True), (1, True)])
def test_equals_conv1d_with_time_last(kernel_size, depthwise, dilation, steps):
    out_channels = 6 if depthwise else 4
    conv = ChannelsLastConv1d(6, out_channels, kernel_size, dilation, depthwise)
    ops.init_random(conv, seeded())
    hidden = torch.randn(2, steps, 6, generator=seeded(1))
    with torch.no_grad():
        out = conv(hidden)
        expected = F.conv1d(
            hidden.transpose(1, 2),
            conv.weight,
            conv.bias,
            padding=kernel_size // 2 * dilation,
            dilation=dilation,
            groups=6 if depthwise else 1,
        ).transpose(1, 2)
    assert out.is_contiguous()
    torch.testing.assert_close(out, expected)


def test_a_strided_input_is_accepted():
    conv = ChannelsLastConv1d(6, 6, 7, 2, depthwise=True)
    ops.init_random(conv, seeded())
    hidden = torch.randn(1, 6, 11, generator=seeded(1)).transpose(1, 2)
    with torch.no_grad():
        torch.testing.assert_close(conv(hidden), conv(hidden.contiguous()))


def test_an_even_kernel_is_refused():
    with pytest.raises(ValueError, match="odd"):
        ChannelsLastConv1d(4, 4, 4)
