import pytest
import torch
from mizuoto.mizuoto_runtime.nn.nsf import NUM_SINES, HarmonicSource, draw_noise
from mizuoto.tests.engines.kokoro.oracle import kokoro
from mizuoto.tests.mizuoto_runtime.nn.test_adain import randomised

HOP = 300


@pytest.fixture(scope="module")
def pair():
    ours = randomised(HarmonicSource(24000, HOP))
    with torch.random.fork_rng(devices=[]):
        theirs = kokoro().istftnet.SourceModuleHnNSF(24000, HOP, harmonic_num=8, voiced_threshod=10)
    theirs.l_linear.load_state_dict(ours.linear.state_dict())
    return ours, theirs


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("frames", [2, 81])
@torch.inference_mode()
def test_equals_upstream_and_leaves_the_generator_where_it_does(pair, seed, frames):
    ours, theirs = pair
    f0 = 400 * torch.rand(1, frames, generator=torch.Generator().manual_seed(seed)) - 20  # unvoiced parts, too
    generator = torch.Generator().manual_seed(seed)
    found = ours(f0, draw_noise(frames * HOP, generator))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)  # noqa: TID251 - the sequence to be equalled
        expected, _, _ = theirs(f0.repeat_interleave(HOP, dim=1)[..., None])
        after = torch.rand(3)
    assert torch.equal(found, expected.squeeze(-1))
    assert torch.equal(torch.rand(3, generator=generator), after)


def test_noise_lies_sine_by_sine():
    noise = draw_noise(50, torch.Generator().manual_seed(0))
    assert noise.shape == (1, 50, NUM_SINES)
    assert noise.transpose(1, 2).is_contiguous()
