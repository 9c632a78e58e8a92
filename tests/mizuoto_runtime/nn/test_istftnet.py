import pytest
import torch
from mizuoto.mizuoto_runtime import ops
from mizuoto.mizuoto_runtime.nn.istftnet import IstftNet, IstftNetConfig
from mizuoto.mizuoto_runtime.nn.nsf import draw_noise
from mizuoto.tests.engines.kokoro.oracle import kokoro
from mizuoto.tests.mizuoto_runtime.nn.test_adain import NAMES, STYLE

CONFIG = IstftNetConfig(
    channels=32, upsample_rates=(10, 6), upsample_kernels=(20, 12), block_kernels=(3, 7),
    block_dilations=((1, 3, 5), (1, 3, 5)), n_fft=20, hop_length=5, style_size=STYLE,
)  # fmt: skip
LISTS = {"up": "ups", "source_conv": "noise_convs", "source_block": "noise_res"}


def theirs_name(name):
    parts = name.split(".")
    if parts[0] == "source":
        parts[0:2] = ["m_source", "l_linear"]
    elif parts[0] == "stages" and parts[2] == "blocks":
        parts[0:4] = ["resblocks", str(2 * int(parts[1]) + int(parts[3]))]
    elif parts[0] == "stages":
        parts[0:3] = [LISTS[parts[2]], parts[1]]
    return ".".join(NAMES.get(part, part) for part in parts)


@pytest.fixture(scope="module")
def pair():
    ours = IstftNet(CONFIG)
    ops.init_random(ours, torch.Generator().manual_seed(0), std=0.1)
    for name, parameter in ours.named_parameters():
        if ".alphas" in name:
            parameter.data += 1.0
    with torch.random.fork_rng(devices=[]):
        theirs = kokoro().istftnet.Generator(STYLE, [3, 7], [10, 6], 32, [[1, 3, 5]] * 2, [20, 12], 20, 5)
    for module in theirs.modules():
        if hasattr(module, "weight_g"):
            torch.nn.utils.remove_weight_norm(module)
    missing, unexpected = theirs.load_state_dict(
        {theirs_name(name): tensor for name, tensor in ours.state_dict().items()}, strict=False
    )
    assert unexpected == []
    assert all(".norm." in name for name in missing)
    return ours.eval(), theirs.eval()


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("frames", [4, 130])
@torch.inference_mode()
def test_equals_upstream(pair, seed, frames):
    ours, theirs = pair
    generator = torch.Generator().manual_seed(10 + seed)
    hidden, style = torch.randn(1, 32, frames, generator=generator), torch.randn(1, STYLE, generator=generator)
    f0 = 300 * torch.rand(1, frames, generator=generator)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)  # noqa: TID251 - the sequence to be equalled
        expected = theirs(hidden.clone(), style, f0)
    noise = draw_noise(frames * CONFIG.samples_per_frame, torch.Generator().manual_seed(seed))
    found = ours(hidden, style, f0, noise)
    assert found.shape == (1, frames * 300)
    assert torch.equal(found, expected[:, 0])


def test_every_weight_of_a_convolution_but_the_smallest_may_stream(pair):
    units = pair[0].memory_units()
    assert len(units) == len(set(units)) == 11
    for unit in units:
        pair[0].get_submodule(unit)
