import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from mizuoto.mizuoto_runtime.audio import Audio
from mizuoto.mizuoto_runtime.reference import cut, faded, joined


def sound(num_channels, num_samples, rate=1000):
    draws = torch.Generator().manual_seed(num_samples)
    return Audio(torch.rand(num_channels, num_samples, generator=draws) + 0.5, rate)


@given(st.floats(-1, 3), st.floats(-1, 3))
def test_a_piece_lies_within_the_recording(start, end):
    piece = cut(sound(2, 1500), start, end)
    assert piece.waveform.shape[0] == 2
    expected = max(0, min(1500, round(end * 1000))) - max(0, min(1500, round(start * 1000)))
    assert piece.waveform.shape[1] == max(0, expected)


def test_edges_rise_and_fall_and_the_middle_stays():
    given_sound = sound(1, 4000, 48000)
    before = given_sound.waveform.clone()
    found = faded(given_sound).waveform
    assert found[0, 0] == found[0, -1] == 0
    assert torch.equal(found[:, 240:-240], before[:, 240:-240])
    assert found.diff()[0, :240].abs().max() < 2 * before.diff()[0, :240].abs().max()
    assert torch.equal(given_sound.waveform, before)


@pytest.mark.parametrize("num_samples", [0, 1, 2, 3, 9])
def test_the_shortest_recordings_have_edges_too(num_samples):
    assert faded(sound(1, num_samples)).waveform.shape == (1, num_samples)


def test_recordings_follow_each_other_with_a_pause():
    one, two = sound(1, 500), sound(1, 700)
    assert joined([one]) is one
    found = joined([one, two])
    assert found.seconds == pytest.approx(1.5)
    assert torch.equal(found.waveform[:, :500], one.waveform) and torch.equal(found.waveform[:, -700:], two.waveform)
    assert not found.waveform[:, 500:800].any()
    with pytest.raises(ValueError, match="one sample rate"):
        joined([one, sound(1, 500, 2000)])
    with pytest.raises(ValueError, match="one sample rate"):
        joined([])
