"""What cannot be pinned in place streams from a pinned copy: small units, and everything on ROCm (S133, S135)."""

import gc
import logging

import pytest
import torch
from mizuoto.mizuoto_runtime.memory.pinning import MIN_PINNED_BYTES, HostBuffer, Pinner

MB = 1 << 20
GPU = torch.device("cuda", 0)


class Allocator:
    """Pageable memory in the place of pinned memory, counted."""

    def __init__(self):
        self.asked = []

    def __call__(self, num_bytes):
        self.asked.append(num_bytes)
        return torch.zeros(num_bytes, dtype=torch.uint8)


class Driver:
    """Pins in place whatever it gets."""

    def room_bytes(self):
        return float("inf")

    def register(self, tensor, device):
        return True

    def unregister(self, pointer, num_bytes, device):
        return True

    def synchronize(self, device):
        """Nothing is queued."""


def filled(num_bytes):
    buffer = HostBuffer(num_bytes)
    buffer.tensor.copy_(torch.arange(num_bytes) % 251)
    return buffer


@pytest.fixture
def allocator():
    return Allocator()


@pytest.mark.parametrize("num_bytes", [64, 3 * MB])
def test_rocm_streams_from_a_pinned_copy(allocator, num_bytes):
    pinner, buffer = Pinner(8 * MB, None, allocator), filled(num_bytes)
    copy = pinner.for_streaming(buffer, GPU)
    assert copy is not buffer and allocator.asked == [num_bytes]
    assert torch.equal(copy.tensor, buffer.tensor) and copy.num_bytes == num_bytes
    assert pinner.is_pinned(copy) and not pinner.is_pinned(buffer)
    assert pinner.for_streaming(copy, GPU) is copy  # once
    assert not pinner.pin(buffer, GPU)  # kept host copies stay pageable


def test_nvidia_pins_in_place_and_copies_what_is_small(allocator):
    pinner = Pinner(8 * MB, Driver(), allocator)
    large, small = filled(MIN_PINNED_BYTES), filled(MIN_PINNED_BYTES - 64)
    assert pinner.for_streaming(large, GPU) is large and pinner.is_pinned(large)
    assert pinner.for_streaming(small, GPU) is not small
    assert allocator.asked == [MIN_PINNED_BYTES - 64]


def test_copies_are_made_outside_inference_mode(allocator):
    with torch.inference_mode():
        copy = Pinner(MB, None, allocator).for_streaming(filled(64), GPU)
    assert not copy.tensor.is_inference()


def test_copies_are_within_the_budget_until_they_die(allocator):
    pinner, buffers = Pinner(3 * MB, None, allocator), [filled(MB + 64), filled(64), filled(MB)]
    copies = [pinner.for_streaming(buffer, GPU) for buffer in buffers]
    assert pinner.pinned_bytes == 2 * MB + 64  # torch's allocator rounds up to powers of two
    assert copies[2] is buffers[2]
    copies.clear()
    gc.collect()
    assert pinner.pinned_bytes == 0 and pinner.room_bytes == 3 * MB
    assert pinner.for_streaming(buffers[2], GPU) is not buffers[2]


@pytest.mark.parametrize("device", ["xpu:0", "mps", "cpu"])
def test_other_devices_stream_from_where_the_weights_are(allocator, device):  # S130
    buffer = filled(2 * MB)
    assert Pinner(8 * MB, None, allocator).for_streaming(buffer, torch.device(device)) is buffer
    assert not allocator.asked


def test_without_an_allocator_nothing_is_copied():
    buffer = filled(64)
    pinner = Pinner(8 * MB)
    assert pinner.for_streaming(buffer, GPU) is buffer and pinner.room_bytes == 0


def test_an_allocator_that_fails_leaves_it_pageable(caplog):
    def refuse(num_bytes):
        raise RuntimeError("no pinned memory left")

    pinner, buffer = Pinner(8 * MB, None, refuse), filled(64)
    with caplog.at_level(logging.WARNING):
        assert pinner.for_streaming(buffer, GPU) is buffer
    assert "no pinned memory left" in caplog.text and pinner.pinned_bytes == 0
