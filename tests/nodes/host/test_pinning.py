"""Pins through ComfyUI's functions, played here with the narrower of the contracts that its versions have."""

import sys
import types
from importlib import import_module

import pytest
import torch
from mizuoto.mizuoto_runtime import runtime
from mizuoto.mizuoto_runtime.device import DeviceService
from mizuoto.mizuoto_runtime.memory import pinning as runtime_pinning
from mizuoto.mizuoto_runtime.memory.pinning import HostBuffer, Pinner
from mizuoto.mizuoto_runtime.settings import Settings

MB = 1 << 20
GPU = torch.device("cuda", 0)


class Management(types.ModuleType):
    """`comfy.model_management` as far as pins go: parameters in, any tensor of the same address and size out."""

    def __init__(self):
        super().__init__("comfy.model_management")
        self.MAX_PINNED_MEMORY, self.TOTAL_PINNED_MEMORY, self.pinned = 16.0 * MB, 0, {}

    def pin_memory(self, tensor):
        if type(tensor).__name__ != "Parameter" or not tensor.is_contiguous() or tensor.device.type != "cpu":
            return False
        self.pinned[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
        self.TOTAL_PINNED_MEMORY += tensor.nbytes
        return True

    def unpin_memory(self, tensor):
        if self.pinned.get(tensor.data_ptr()) != tensor.numel() * tensor.element_size():
            return False
        self.TOTAL_PINNED_MEMORY -= self.pinned.pop(tensor.data_ptr())
        return True


@pytest.fixture
def management(monkeypatch):
    comfy, made = types.ModuleType("comfy"), Management()
    comfy.model_management = made
    monkeypatch.setitem(sys.modules, "comfy", comfy)
    monkeypatch.setitem(sys.modules, "comfy.model_management", made)
    return made


@pytest.fixture
def adapter(management, packages_without_comfyui, monkeypatch):
    monkeypatch.delitem(sys.modules, "mizuoto.nodes.host.pinning", raising=False)  # bound to another test's ComfyUI
    module = import_module("mizuoto.nodes.host.pinning")
    monkeypatch.setattr(module, "can_pin_in_place", lambda: True)
    monkeypatch.setattr(module, "discard_pending_error", lambda device: None)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: None)
    return module


def test_comfyui_sees_a_pin_from_its_beginning_to_its_end(adapter, management, caplog):
    pinner, buffer = Pinner(64 * MB, adapter.pins()), HostBuffer(2 * MB)
    with torch.inference_mode():
        assert pinner.pin(buffer, GPU)
    assert management.pinned == {buffer.pointer: 2 * MB}
    del buffer
    assert management.pinned == {} and management.TOTAL_PINNED_MEMORY == 0
    assert not caplog.records


def test_the_budget_is_shared(adapter, management):
    pinner = Pinner(64 * MB, adapter.pins())
    management.TOTAL_PINNED_MEMORY = 14 * MB
    assert pinner.room_bytes == 2 * MB
    first, second = HostBuffer(2 * MB), HostBuffer(MB)
    assert pinner.pin(first, GPU) and not pinner.pin(second, GPU)
    management.TOTAL_PINNED_MEMORY = 17 * MB
    assert pinner.room_bytes == 0


def test_a_refusal_takes_its_error_along(adapter, management, monkeypatch):
    discarded = []
    monkeypatch.setattr(adapter, "discard_pending_error", discarded.append)
    monkeypatch.setattr(management, "pin_memory", lambda tensor: False)
    assert not Pinner(64 * MB, adapter.pins()).pin(HostBuffer(MB), GPU)
    assert discarded == [GPU]


def test_its_switch_is_obeyed_by_the_runtime(adapter, management, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(runtime, "can_pin_in_place", lambda: True)  # what the runtime itself would take
    devices = DeviceService({"cuda:0": 64 * MB})
    budgets, copies = [], []
    for management.MAX_PINNED_MEMORY in (16.0 * MB, -1):  # -1: --disable-pinned-memory
        made = runtime.Runtime(
            Settings(max_pinned_mb=32),
            devices,
            pins=adapter.pins(),
            pinned_copies=adapter.pinned_copies(),
            has_host=True,
        )
        budgets.append(made.pinner.budget_bytes)
        copies.append(adapter.pinned_copies())
    assert budgets == [32 * MB, 0]
    assert copies == [runtime_pinning.pinned_memory, None]
    assert runtime.Runtime(Settings(max_pinned_mb=32), devices).pinner.budget_bytes == 32 * MB


def test_other_gpus_pin_copies_alone(adapter, monkeypatch):  # S135
    monkeypatch.setattr(adapter, "can_pin_in_place", lambda: False)
    for is_there, copies in ((True, runtime_pinning.pinned_memory), (False, None)):
        monkeypatch.setattr(torch.cuda, "is_available", lambda found=is_there: found)
        assert (adapter.pins(), adapter.pinned_copies()) == (None, copies)


@pytest.mark.parametrize("missing", ["pin_memory", "MAX_PINNED_MEMORY"])
def test_a_comfyui_without_pins(adapter, management, missing, monkeypatch):
    monkeypatch.delattr(Management if missing == "pin_memory" else management, missing)
    assert adapter.pins() is None


@pytest.mark.parametrize("limit", [-1, 0])
def test_switched_off(adapter, management, limit):
    management.MAX_PINNED_MEMORY = limit
    assert adapter.pins() is None


def test_not_on_other_hardware(adapter, monkeypatch):
    monkeypatch.setattr(adapter, "can_pin_in_place", runtime_pinning.can_pin_in_place)
    monkeypatch.setattr(torch.version, "cuda", None)
    assert adapter.pins() is None


def test_waits_for_the_device_that_was_copied_to(adapter, monkeypatch):
    waited = []
    monkeypatch.setattr(torch.cuda, "synchronize", waited.append)
    pinner, buffer = Pinner(64 * MB, adapter.pins()), HostBuffer(MB)
    pinner.pin(buffer, torch.device("cuda", 1))
    pinner.unpin(buffer)
    assert waited == [torch.device("cuda", 1)]
