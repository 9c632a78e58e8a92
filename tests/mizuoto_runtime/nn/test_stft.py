import pytest
import torch
from mizuoto.mizuoto_runtime.nn.stft import centred_frames, overlap_add

N_FFT, HOP = 16, 4


@pytest.mark.parametrize("num_hops", [3, 4, 20])
def test_centred_frames_are_those_of_torch_stft(num_hops):
    signal = torch.randn(num_hops * HOP, generator=torch.Generator().manual_seed(0))
    window = torch.hann_window(N_FFT)
    ours = torch.fft.rfft(centred_frames(signal, N_FFT, HOP) * window)
    theirs = torch.stft(signal, N_FFT, HOP, window=window, center=True, pad_mode="reflect", return_complex=True)
    assert ours.shape[0] == num_hops
    torch.testing.assert_close(ours, theirs.t()[:num_hops])


def test_half_a_frame_of_signal_is_enough():
    signal = torch.arange(1.0, 9.0)
    first = centred_frames(signal, N_FFT, HOP)[0]
    assert first.tolist() == [0.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]


@pytest.mark.parametrize("length", [4, 10, 0])
def test_too_short_or_broken_signals_are_refused(length):
    with pytest.raises(ValueError, match="whole number"):
        centred_frames(torch.zeros(length), N_FFT, HOP)


def test_overlap_add_inverts_framing():
    signal = torch.randn(20 * HOP, generator=torch.Generator().manual_seed(0))
    window = torch.hann_window(N_FFT)
    frames = centred_frames(signal, N_FFT, HOP) * window
    weight = overlap_add(window.expand(20, -1), HOP)
    centre = slice(N_FFT // 2, N_FFT // 2 + signal.shape[0])
    torch.testing.assert_close((overlap_add(frames, HOP) / weight)[centre], signal)


def test_overlap_add_sums_shifted_frames():
    frames = torch.tensor([[1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 30.0, 40.0]])
    assert overlap_add(frames, 2).tolist() == [1.0, 2.0, 13.0, 24.0, 30.0, 40.0]


def test_overlap_add_needs_whole_hops():
    with pytest.raises(ValueError, match="hops of 3"):
        overlap_add(torch.zeros(2, 4), 3)
