"""The blocks against those of f5-tts, bit for bit, at the released width, where kernels round otherwise."""

import pytest
import torch
from mizuoto.engines.f5_tts.keys import TALKER, rename
from mizuoto.mizuoto_runtime.attention import Site
from mizuoto.mizuoto_runtime.nn.dit import ConvPositions, DitBlock, Modulation, TimeEmbedding
from mizuoto.mizuoto_runtime.nn.rotary import pair_angles, rotated_pairs
from mizuoto.tests.engines.f5_tts import oracle

WIDTH, HEADS, HEAD_DIM = 1024, 16, 64


def noise(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def randomised(module, seed=1):
    """`module` with noise in every parameter: upstream starts modulations from zero, where an error would not show."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in module.parameters():
        scale = parameter[0].numel() ** -0.5 if parameter.dim() > 1 else 0.3
        parameter.data = torch.randn(parameter.shape, generator=generator) * scale
    return module.eval()


def block_state(theirs):
    """Our names and tensors of an upstream block; those of its modulation begin with "modulations.0."."""
    names = {name: rename(f"transformer_blocks.0.{name}", TALKER) for name in theirs.state_dict()}
    return {names[name].removeprefix("blocks.0."): tensor.clone() for name, tensor in theirs.state_dict().items()}


@torch.no_grad()
@pytest.mark.parametrize(("num_rotated", "norm", "frames"), [(None, None, 61), (1, None, 40), (None, "rms_norm", 24)])
def test_block(num_rotated, norm, frames):
    theirs = randomised(
        oracle.modules.DiTBlock(
            dim=WIDTH, heads=HEADS, dim_head=HEAD_DIM, ff_mult=2, qk_norm=norm, pe_attn_head=num_rotated,
            attn_backend="torch", attn_mask_enabled=False,
        )
    )  # fmt: skip
    modulation = Modulation(WIDTH, DitBlock.NUM_PARTS)
    modulation.linear = theirs.attn_norm.linear
    block = DitBlock(WIDTH, 2 * WIDTH, Site("test", HEADS, HEAD_DIM), bool(norm))
    state = block_state(theirs)
    block.load_state_dict({name: tensor for name, tensor in state.items() if not name.startswith("modulations.")})
    rotary = oracle.RotaryEmbedding(HEAD_DIM)
    hidden, times = noise(2, frames, WIDTH), noise(3, WIDTH, seed=2)
    found = block(hidden, modulation(times, 2)[1], pair_angles(rotary.inv_freq, frames, torch.float32), num_rotated)
    expected = theirs(hidden, times[[1, 1]], mask=None, rope=rotary.forward_from_seq_len(frames))
    assert torch.equal(found, expected)
    assert (found - hidden).abs().max() > 0.1


@torch.no_grad()
@pytest.mark.parametrize("rows", [1, 2])
def test_modulations_are_those_of_single_steps(rows):
    theirs = randomised(oracle.modules.AdaLayerNorm_Final(WIDTH))
    ours = Modulation(WIDTH, 2)
    ours.linear = theirs.linear
    hidden, times = noise(rows, 5, WIDTH), noise(4, WIDTH, seed=3)
    for time, (scale, shift) in zip(times, ours(times, rows), strict=True):
        assert torch.equal(theirs.norm(hidden) * (1 + scale) + shift, theirs(hidden, time.expand(rows, -1).clone()))


@torch.no_grad()
def test_times_are_those_of_single_steps():
    theirs = randomised(oracle.modules.TimestepEmbedding(WIDTH))
    ours = TimeEmbedding(WIDTH)
    ours.load_state_dict(
        {rename(f"time_embed.{name}", TALKER)[5:]: tensor.clone() for name, tensor in theirs.state_dict().items()}
    )
    times = torch.rand(6, generator=torch.Generator().manual_seed(4))
    assert torch.equal(ours(times), torch.cat([theirs(time[None]) for time in times]))


@torch.no_grad()
@pytest.mark.parametrize("frames", [3, 50])
def test_conv_positions(frames):
    theirs = randomised(oracle.modules.ConvPositionEmbedding(256))
    ours = ConvPositions(256)
    for mine, other in ((ours.first, theirs.conv1d[0]), (ours.second, theirs.conv1d[2])):
        mine.load_state_dict(other.state_dict())
    hidden = noise(2, frames, 256)
    assert torch.equal(ours(hidden), theirs(hidden))


def test_pairs_are_turned_by_their_angle():
    """Written as multiplication of complex numbers."""
    heads, frequencies = noise(2, 7, 3, 8), torch.tensor([1.0, 0.3, 0.1, 0.01])
    turned = torch.view_as_complex(heads.unflatten(-1, (-1, 2)))
    angles = torch.arange(7)[:, None] * frequencies
    turned = turned * torch.polar(torch.ones_like(angles), angles)[:, None]
    found = rotated_pairs(heads, pair_angles(frequencies, 7, torch.float32))
    torch.testing.assert_close(found, torch.view_as_real(turned).flatten(-2))
