"""The waveform half against the wheel's own signal processing (hibari.dsp, numpy), and against first principles."""

import math

import hibari.dsp
import numpy as np
import pytest
import torch
from mizuoto.engines.hibari.config import CodecConfig
from mizuoto.engines.hibari.synthesis import (
    BLOCK_FRAMES,
    Spectra,
    draw_noise,
    interpolate,
    phase_of,
    pulses,
    synthesise,
)

CONFIG = CodecConfig()
PHONEMES = ("ˈA", "həlˈO.", "ðə kwˈɪk bɹˈWn fˈɑks ʤˈʌmps ˈOvəɹ ðə lˈAzi dˈɔɡ nˌɪɹ ðə ɹˈɪvəɹ bˈæŋk.")


class FedNoise:
    """Stands in for numpy's generator and hands out the noise that ours drew."""

    def __init__(self, noise):
        self.noise = noise  # [2, F, bins]

    def standard_normal(self, shape, dtype):
        interleaved = self.noise.permute(2, 1, 0).contiguous()  # complex64 as pairs, [bins, F, 2]
        return interleaved.numpy().astype(dtype).reshape(shape)


def wheel_waveform(spectra, f0, noise):
    columns = [part.t().contiguous().numpy() for part in spectra]
    return torch.from_numpy(hibari.dsp.synth(*columns, f0.numpy(), FedNoise(noise)))


@pytest.mark.parametrize("speed", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("phonemes", PHONEMES)
def test_waveform_equals_the_wheels(phonemes, speed, ids_of, wheel_talker, wheel_decoder):
    text_ids = ids_of(phonemes)
    prosody = wheel_talker(text_ids, speed)
    spectra = wheel_decoder.spectra(text_ids, *prosody)
    noise = draw_noise(spectra.noise_log.shape, torch.Generator().manual_seed(3))
    ours = synthesise(spectra, prosody.f0[0], noise, CONFIG)
    theirs = wheel_waveform(spectra, prosody.f0[0], noise)
    assert ours.shape == theirs.shape
    assert (ours - theirs).abs().max() < 1e-3 * theirs.abs().max()
    assert (ours - theirs).square().mean().sqrt() < 1e-4 * theirs.square().mean().sqrt()


@pytest.mark.parametrize("num_frames", [2, 3, 4, BLOCK_FRAMES, BLOCK_FRAMES + 1])
def test_random_spectra_equal_the_wheels_at_any_length(num_frames):
    generator = torch.Generator().manual_seed(num_frames)
    spectra = Spectra(*torch.randn(5, num_frames, CONFIG.num_bins, generator=generator))
    f0 = torch.rand(num_frames, generator=generator) * 300.0
    noise = draw_noise(spectra.noise_log.shape, generator)
    theirs = wheel_waveform(spectra, f0, noise)
    assert (synthesise(spectra, f0, noise, CONFIG) - theirs).abs().max() < 1e-3 * theirs.abs().max()


def test_large_logarithms_are_cut():
    spectra = Spectra(*torch.zeros(5, 4, CONFIG.num_bins))
    f0 = torch.full((4,), 120.0)
    noise = draw_noise(spectra.noise_log.shape, torch.Generator().manual_seed(0))
    at_limit, beyond = (
        synthesise(spectra._replace(free_log=torch.full_like(spectra.free_log, level)), f0, noise, CONFIG)
        for level in (7.0, 70.0)
    )
    assert torch.equal(at_limit, beyond)


def test_pulses_are_the_sum_of_the_harmonics():
    f0 = torch.full((8,), 437.0)
    samples = torch.arange(1, 8 * CONFIG.hop_length + 1, dtype=torch.float64)
    phase = 2.0 * math.pi * 437.0 / CONFIG.sample_rate * samples
    expected = sum(torch.cos(k * phase) for k in range(1, int(CONFIG.max_harmonic_hz / 437.0) + 1))
    assert (pulses(f0, CONFIG).double() - expected).abs().max() < 0.02


def test_unvoiced_frames_have_no_pulses():
    assert not pulses(torch.tensor([0.0, 20.0, -30.0, 40.0]), CONFIG).any()


def test_interpolation_is_linear_between_frame_centres():
    f0 = torch.tensor([100.0, 200.0, 50.0])
    expected = torch.nn.functional.interpolate(f0[None, None], scale_factor=300, mode="linear", align_corners=False)
    torch.testing.assert_close(interpolate(f0, 300), expected[0, 0], rtol=1e-5, atol=1e-3)


def test_phase_stays_exact_over_minutes():
    seconds = 300
    frequency = torch.full((seconds * CONFIG.sample_rate,), 233.3)
    exact = (233.3 * seconds) % 1.0  # 233.3 as float32 differs by 1e-6 Hz, 4e-4 cycles in all
    assert phase_of(frequency, CONFIG.sample_rate)[-1].item() / (2 * math.pi) == pytest.approx(exact, abs=2e-3)


def test_noise_comes_from_the_generators_device_and_seed():
    shape = torch.Size((3, 5))
    first, second = (draw_noise(shape, torch.Generator().manual_seed(4)) for _ in range(2))
    assert first.shape == (2, 3, 5)
    assert first.device.type == "cpu"
    assert torch.equal(first, second)
    assert np.isclose(draw_noise(torch.Size((400, 601)), torch.Generator().manual_seed(0)).std(), 1.0, atol=0.01)
