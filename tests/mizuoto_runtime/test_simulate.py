import pytest
import torch
from mizuoto.mizuoto_runtime.simulate import SimulatedDevice, SimulatedOutOfMemory


def test_counts_and_remembers_the_peak():  # S174
    device = SimulatedDevice(100)
    device.allocate(60)
    device.free(40)
    device.allocate(10)
    assert (device.used_bytes, device.free_bytes, device.peak_bytes) == (30, 70, 60)


def test_the_capacity_is_enforced_to_the_byte():
    device = SimulatedDevice(100)
    device.allocate(99)
    with pytest.raises(SimulatedOutOfMemory, match="2 bytes wanted, 1 of 100 free"):
        device.allocate(2)
    assert device.used_bytes == 99
    device.allocate(1)
    assert device.free_bytes == 0


def test_copies_stand_on_their_own_memory():
    device = SimulatedDevice(100)
    source = torch.nn.Parameter(torch.arange(4.0))
    copy = device.copy_in(source)
    assert (copy.requires_grad, device.used_bytes) == (False, 16)
    copy.zero_()
    assert source.sum() == 6


def test_a_copy_that_does_not_fit_counts_nothing():
    device = SimulatedDevice(10)
    with pytest.raises(SimulatedOutOfMemory):
        device.copy_in(torch.zeros(3))
    assert device.used_bytes == device.peak_bytes == 0
