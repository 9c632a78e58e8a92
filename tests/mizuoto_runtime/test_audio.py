import torch
from mizuoto.mizuoto_runtime.audio import Audio, mono


def test_seconds_count_time_and_not_channels():
    assert Audio(torch.zeros(2, 12_000), 24_000).seconds == 0.5
    assert Audio(torch.zeros(1, 0), 24_000).seconds == 0.0


def test_channels_are_averaged_and_the_duration_stays():  # P50, P51
    one = Audio(torch.linspace(0, 1, 800)[None], 1000)
    assert mono(one) is one
    half_silent = Audio(torch.cat((one.waveform, 0 * one.waveform)), 1000)
    assert torch.equal(mono(half_silent).waveform, one.waveform / 2)
    six = Audio(torch.arange(4800.0).reshape(6, 800), 1000)
    assert torch.equal(mono(six).waveform, six.waveform.mean(0, keepdim=True)) and mono(six).seconds == 0.8
