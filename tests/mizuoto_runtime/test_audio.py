import torch
from mizuoto.mizuoto_runtime.audio import Audio


def test_seconds_count_time_and_not_channels():
    assert Audio(torch.zeros(2, 12_000), 24_000).seconds == 0.5
    assert Audio(torch.zeros(1, 0), 24_000).seconds == 0.0
