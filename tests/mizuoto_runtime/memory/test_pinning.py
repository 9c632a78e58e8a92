"""Pins and the order in which they end, with a driver that only writes down what it is asked."""

import ctypes
import gc
import logging
import math
import mmap
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from mizuoto.mizuoto_runtime.memory import pinning
from mizuoto.mizuoto_runtime.memory.pinning import MIN_PINNED_BYTES, CudaPins, HostBuffer, Pinner

MB = 1 << 20
GPU = torch.device("cuda", 1)


class Driver:
    """A `PinBackend` that keeps the order of calls and looks at the memory when it is given back."""

    def __init__(self, room=math.inf):
        self.calls, self.registered, self.room, self.seen = [], {}, room, {}
        self.refuses, self.on_register = False, lambda: None

    def room_bytes(self):
        return self.room

    def register(self, tensor, device):
        self.on_register()
        if self.refuses:
            return False
        assert tensor.data_ptr() not in self.registered
        self.registered[tensor.data_ptr()] = tensor.nbytes
        self.calls.append(("register", tensor.data_ptr()))
        return True

    def unregister(self, pointer, num_bytes, device):
        assert self.registered.pop(pointer) == num_bytes
        self.seen[pointer] = ctypes.string_at(pointer, 8)
        self.calls.append(("unregister", pointer))
        return True

    def synchronize(self, device):
        self.calls.append(("synchronize", device))


@pytest.fixture
def driver():
    return Driver()


@pytest.fixture
def pinner(driver):
    return Pinner(64 * MB, driver)


def buffer_of(text, num_bytes=MB):
    buffer = HostBuffer(num_bytes)
    buffer.tensor[: len(text)] = torch.tensor(list(text), dtype=torch.uint8)
    return buffer


@pytest.mark.parametrize("num_bytes", [1, 4096, MB + 1])
def test_a_buffer_has_its_pages_for_itself(num_bytes):
    buffer = HostBuffer(num_bytes)
    assert buffer.tensor.shape == (num_bytes,) and buffer.tensor.dtype == torch.uint8
    assert buffer.pointer % mmap.PAGESIZE == 0
    memory = buffer._memory
    begin, end = memory.ctypes.data, memory.ctypes.data + memory.nbytes
    assert begin <= buffer.pointer
    assert buffer.pointer + -(-num_bytes // mmap.PAGESIZE) * mmap.PAGESIZE <= end


def test_buffers_made_in_inference_mode_are_ordinary():  # S136
    with torch.inference_mode():
        assert not HostBuffer(8).tensor.is_inference()


def test_pins_once(pinner, driver):
    buffer = HostBuffer(MB)
    assert not pinner.is_pinned(buffer)
    assert pinner.pin(buffer, GPU) and pinner.pin(buffer, GPU)
    assert pinner.is_pinned(buffer) and pinner.pinned_bytes == MB
    assert driver.calls == [("register", buffer.pointer)]


def test_the_device_is_waited_for_and_the_memory_still_there(pinner, driver):  # S134
    buffer = buffer_of(b"mizuoto!")
    pointer = buffer.pointer
    pinner.pin(buffer, GPU)
    del buffer
    assert driver.calls == [("register", pointer), ("synchronize", GPU), ("unregister", pointer)]
    assert driver.seen[pointer] == b"mizuoto!"
    assert pinner.pinned_bytes == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self/maps")
def test_memory_is_freed_after_it_is_unregistered(pinner, driver):  # S134
    def is_mapped(pointer):
        ranges = (line.split()[0].split("-") for line in Path("/proc/self/maps").read_text().splitlines())
        return any(int(begin, 16) <= pointer < int(end, 16) for begin, end in ranges)

    unregister = driver.unregister

    def is_freed():
        buffer = HostBuffer(64 * MB)  # so large that the allocator gives it back to the system at once
        pointer, seen = buffer.pointer, []
        driver.unregister = lambda *args: seen.append(is_mapped(pointer)) or unregister(*args)
        assert pinner.pin(buffer, GPU)
        del buffer
        assert seen == [True]
        return not is_mapped(pointer)

    # Something else may be put in its place at once, but not always.
    assert any(is_freed() for _ in range(5))


def test_a_parameter_that_views_it_keeps_it_pinned(pinner, driver):
    buffer = HostBuffer(MB)
    pinner.pin(buffer, GPU)
    layer = torch.nn.Linear(64, 64, bias=False)
    layer.weight.data = buffer.tensor[: 64 * 64 * 4].view(torch.float32).view(64, 64)
    del buffer
    assert driver.registered
    layer.weight.data = torch.empty(64, 64)
    assert not driver.registered


def test_a_cycle_that_is_collected_unpins(pinner, driver):
    holder = SimpleNamespace(buffer=HostBuffer(MB))
    holder.me = holder
    pinner.pin(holder.buffer, GPU)
    del holder
    gc.collect()
    assert not driver.registered and pinner.pinned_bytes == 0


def test_a_buffer_may_outlive_its_pinner(driver):
    buffer, pinner = buffer_of(b"still on"), Pinner(MB, driver)
    pinner.pin(buffer, GPU)
    pointer = buffer.pointer
    del pinner
    gc.collect()
    assert driver.registered
    del buffer
    assert driver.seen[pointer] == b"still on"


def test_unpinning_keeps_the_memory(pinner, driver):
    buffer = buffer_of(b"kept")
    pinner.unpin(buffer)
    pinner.pin(buffer, GPU)
    pinner.unpin(buffer)
    pinner.unpin(buffer)
    assert [call for call, _ in driver.calls] == ["register", "synchronize", "unregister"]
    assert not pinner.is_pinned(buffer) and bytes(buffer.tensor[:4].tolist()) == b"kept"
    assert pinner.pin(buffer, GPU)
    del buffer
    assert not driver.registered


@pytest.mark.parametrize("device", ["cpu", "mps", "xpu:0"])
def test_only_cuda_devices_are_copied_to_from_pins(pinner, driver, device):  # S130, S135
    assert not pinner.pin(HostBuffer(MB), torch.device(device))
    assert not driver.calls


def test_without_a_backend_nothing_is_pinned():
    pinner = Pinner(64 * MB)
    assert not pinner.pin(HostBuffer(MB), GPU)
    assert (pinner.pinned_bytes, pinner.room_bytes, pinner.budget_bytes) == (0, 0, 0)


def test_small_buffers_stay_pageable(pinner):  # S133
    assert not pinner.pin(HostBuffer(MIN_PINNED_BYTES - 1), GPU)
    assert pinner.pin(HostBuffer(MIN_PINNED_BYTES), GPU)


def test_one_budget_in_whole_pages(driver):  # S129
    pinner = Pinner(3 * MB, driver)
    first, second, third = HostBuffer(MB), HostBuffer(MB + 1), HostBuffer(MB)
    assert pinner.pin(first, GPU) and pinner.pin(second, GPU)
    assert pinner.pinned_bytes == 2 * MB + mmap.PAGESIZE
    assert pinner.room_bytes == MB - mmap.PAGESIZE
    assert not pinner.pin(third, GPU)
    del second
    assert pinner.pin(third, GPU)
    assert pinner.room_bytes == MB
    assert not Pinner(MB + 1, driver).pin(HostBuffer(MB + 1), GPU)


def test_what_others_pinned_counts(driver):
    pinner = Pinner(64 * MB, driver)
    driver.room = MB
    assert pinner.room_bytes == MB
    assert not pinner.pin(HostBuffer(2 * MB), GPU)
    driver.room = -MB
    assert pinner.room_bytes == 0
    driver.room = 2 * MB
    buffer = HostBuffer(2 * MB)
    assert pinner.pin(buffer, GPU)


def test_a_refusal_leaves_it_pageable_and_is_logged_once(pinner, driver, caplog):
    driver.refuses = True
    with caplog.at_level(logging.WARNING, "mizuoto.memory"):
        assert not pinner.pin(HostBuffer(MB), GPU)
        assert not pinner.pin(HostBuffer(MB), GPU)
    assert len(caplog.records) == 1 and "1 MB" in caplog.text
    driver.refuses = False
    buffer = HostBuffer(MB)
    assert pinner.pin(buffer, GPU)


def test_drivers_that_raise(pinner, driver, caplog):
    def lost(*_):
        raise RuntimeError("CUDA error: device lost")

    driver.on_register = lost
    assert not pinner.pin(HostBuffer(MB), GPU)
    driver.on_register = lambda: None
    buffer = HostBuffer(MB)
    assert pinner.pin(buffer, GPU)
    driver.synchronize = lost
    del buffer  # nothing may come out of a finalizer
    assert not driver.registered and pinner.pinned_bytes == 0
    assert len(caplog.records) == 1


@pytest.mark.parametrize("fails", ["returns", "raises"])
def test_a_failed_unregistration_is_logged(pinner, driver, caplog, fails):
    def unregister(pointer, num_bytes, device):
        if fails == "raises":
            raise RuntimeError("no")
        return False

    driver.unregister = unregister
    buffer = HostBuffer(MB)
    pinner.pin(buffer, GPU)
    del buffer
    assert pinner.pinned_bytes == 0
    assert "unregistered" in caplog.text


def test_a_finalizer_may_run_while_another_buffer_is_pinned(pinner, driver):
    # As the garbage collector may have it: the same thread, in the middle of `pin`.
    old, new = [HostBuffer(MB)], HostBuffer(MB)
    pinner.pin(old[0], GPU)
    driver.on_register = old.clear
    done = []
    worker = threading.Thread(target=lambda: done.append(pinner.pin(new, GPU)), daemon=True)
    worker.start()
    worker.join(10)
    assert done == [True]
    assert pinner.pinned_bytes == MB and list(driver.registered) == [new.pointer]


def test_many_threads_stay_within_the_budget(driver):
    driver.on_register = lambda: time.sleep(0.001)  # long enough for the others to look at the budget
    pinner = Pinner(8 * MB, driver)
    buffers = [HostBuffer(MB) for _ in range(32)]

    def work(index):
        for buffer in buffers[index::4]:
            pinner.pin(buffer, GPU)
            assert pinner.pinned_bytes <= 8 * MB

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert pinner.pinned_bytes == 8 * MB and sum(map(pinner.is_pinned, buffers)) == 8


class Cudart:
    def __init__(self, result):
        self.result, self.calls = result, []

    def cudaHostRegister(self, *args):  # noqa: N802
        self.calls.append(("register", *args))
        return self.result

    def cudaHostUnregister(self, *args):  # noqa: N802
        self.calls.append(("unregister", *args))
        return self.result


@pytest.mark.parametrize("result", [0, 2])
def test_the_driver_is_asked_in_its_own_terms(monkeypatch, result):  # S131
    cudart, discarded, waited = Cudart(result), [], []
    monkeypatch.setattr(torch.cuda, "cudart", lambda: cudart)
    monkeypatch.setattr(torch.cuda, "synchronize", waited.append)
    monkeypatch.setattr(pinning, "discard_pending_error", discarded.append)
    buffer, pins = HostBuffer(MB), CudaPins()
    assert pins.register(buffer.tensor, GPU) is (result == 0)
    assert pins.unregister(buffer.pointer, MB, GPU) is (result == 0)
    pins.synchronize(GPU)
    assert cudart.calls == [("register", buffer.pointer, MB, 1), ("unregister", buffer.pointer)]
    assert discarded == ([] if result == 0 else [GPU, GPU])
    assert waited == [GPU]
    assert pins.room_bytes() == math.inf


def test_a_pending_error_is_taken_on_the_device_of_the_copies_alone(monkeypatch):
    used = []

    class Zeros:
        def add_(self, value):
            raise RuntimeError("the error of the registration")

    monkeypatch.setattr(torch, "zeros", lambda *size, device: used.append(device) or Zeros())
    pinning.discard_pending_error(GPU)
    monkeypatch.setattr(Zeros, "add_", lambda zeros, value: zeros)
    monkeypatch.setattr(torch.cuda, "synchronize", used.append)
    pinning.discard_pending_error(GPU)
    assert used == [GPU] * 3


@pytest.mark.parametrize(
    ("cuda", "hip", "is_available", "expected"),
    [("12.8", None, True, True), ("12.8", None, False, False), (None, "7.0", True, False), (None, None, False, False)],
)
def test_in_place_pinning_is_for_nvidia(monkeypatch, cuda, hip, is_available, expected):  # S135
    monkeypatch.setattr(torch.version, "cuda", cuda)
    monkeypatch.setattr(torch.version, "hip", hip)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: is_available)
    assert pinning.can_pin_in_place() is expected


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA card")
def test_on_a_card():
    device = torch.device("cuda", 0)
    pinner, buffer = Pinner(256 * MB, CudaPins()), HostBuffer(64 * MB)
    assert pinner.pin(buffer, device) and buffer.tensor.is_pinned()
    buffer.tensor.fill_(7)
    on_device = buffer.tensor.to(device, non_blocking=True)
    del buffer
    assert pinner.pinned_bytes == 0
    assert bool((on_device == 7).all())
