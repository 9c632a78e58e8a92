import json
import subprocess
from types import SimpleNamespace

import pytest
import torch
from mizuoto.mizuoto_runtime.doctor import build, hardware
from mizuoto.mizuoto_runtime.doctor.child import devices
from mizuoto.tests.mizuoto_runtime.doctor.conftest import torch_of

SMI = "0, GPU-aa, NVIDIA L4, 23034, 22000, 580.1, 8.9\n1, GPU-bb, NVIDIA T4, 15360, 15000, 580.1, 7.5\n"
ROCM = json.dumps({"card0": {"Card Series": "Radeon RX 7900 XTX", "VRAM Total Memory (B)": "100"}})
AMD = json.dumps([{"asic": {"market_name": "MI300X"}}])


@pytest.fixture
def child(monkeypatch):
    """The torch of a second process: set `.answer`, count `.calls`."""
    state = SimpleNamespace(answer=[], calls=0)

    def ask(_build, _environment=None):
        state.calls += 1
        return state.answer

    monkeypatch.setattr(hardware, "ask_torch", ask)
    return state


def test_nvidia(bare_machine, tools, child):
    found = hardware.find_hardware(torch_of(), tools("nvidia-smi", SMI))
    assert [(gpu.device, gpu.name) for gpu in found.gpus] == [("cuda:0", "NVIDIA L4"), ("cuda:1", "NVIDIA T4")]
    assert (found.found_by, found.hidden, child.calls) == ("nvidia-smi", (), 0)


def test_visible_devices_hide_and_reorder(bare_machine, tools, child):
    environment = {**tools("nvidia-smi", SMI), "CUDA_VISIBLE_DEVICES": "GPU-bb"}
    found = hardware.find_hardware(torch_of(), environment)
    assert [(gpu.device, gpu.name) for gpu in found.gpus] == [("cuda:0", "NVIDIA T4")]
    assert [gpu.name for gpu in found.hidden] == ["NVIDIA L4"]


def test_all_hidden_asks_nobody_else(bare_machine, tools, child):
    tools("rocm-smi", ROCM)
    found = hardware.find_hardware(torch_of(), {**tools("nvidia-smi", SMI), "CUDA_VISIBLE_DEVICES": ""})
    assert (found.gpus, len(found.hidden), child.calls) == ((), 2, 0)


def test_a_slice_of_a_card_is_known_to_torch_only(bare_machine, tools, child):
    child.answer = [hardware.Gpu("cuda:0", "nvidia", "H100 MIG 1g.10gb")]
    found = hardware.find_hardware(torch_of(), {**tools("nvidia-smi", SMI), "CUDA_VISIBLE_DEVICES": "MIG-1"})
    assert [gpu.name for gpu in found.gpus] == ["H100 MIG 1g.10gb"]
    assert found.found_by == "torch in a second process"


def test_an_older_driver_is_asked_without_the_capability(bare_machine, tools, child):
    body = (
        'case "$1" in *compute_cap*) echo "Field \\"compute_cap\\" is not a valid field to query."; exit 2;; esac\n'
        "echo '0, GPU-a, Tesla K80, 11441, 11000, 440.33'"
    )
    (gpu,) = hardware.find_hardware(None, tools("nvidia-smi", body=body)).gpus
    assert (gpu.name, gpu.driver, gpu.capability) == ("Tesla K80", "440.33", None)


def test_a_driver_that_does_not_answer_is_told(bare_machine, tools, child):
    environment = tools("nvidia-smi", error="Failed to initialize NVML", code=18)
    found = hardware.find_hardware(torch_of(), environment)
    assert found.failures == {"nvidia-smi": "exit code 18: Failed to initialize NVML"}
    assert child.calls == 1


@pytest.mark.parametrize(
    ("answers", "tool", "name"),
    [
        ({"rocm-smi": ROCM, "amd-smi": AMD}, "rocm-smi", "Radeon RX 7900 XTX"),
        ({"amd-smi": AMD}, "amd-smi", "MI300X"),
        ({"rocm-smi": "no permission", "amd-smi": AMD}, "amd-smi", "MI300X"),
    ],
)
def test_amd(bare_machine, tools, child, answers, tool, name):
    for each, text in answers.items():
        tools(each, text)
    found = hardware.find_hardware(torch_of("rocm"), tools.environment)
    assert (found.found_by, found.gpus[0].name, found.gpus[0].device) == (tool, name, "cuda:0")


@pytest.mark.parametrize(("kind", "tool"), [("cuda", "nvidia-smi"), ("rocm", "rocm-smi"), ("cpu", "nvidia-smi")])
def test_with_both_vendors_the_build_decides(bare_machine, tools, child, kind, tool):
    tools("nvidia-smi", SMI)
    assert hardware.find_hardware(torch_of(kind), tools("rocm-smi", ROCM)).found_by == tool


def test_apple_by_platform(bare_machine, tools, child, monkeypatch):
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    found = hardware.find_hardware(None, tools.environment)
    assert [gpu.device for gpu in found.gpus] == ["mps"] and found.found_by == "platform"
    assert found.gpus[0].total_bytes > 1 << 30


@pytest.mark.parametrize(("kind", "calls"), [("cuda", 1), ("rocm", 1), ("xpu", 1), ("cpu", 0), (None, 0)])
def test_torch_is_asked_only_where_its_build_could_find_more(bare_machine, tools, child, kind, calls):
    found = hardware.find_hardware(torch_of(kind) if kind else None, tools.environment)
    assert (found.gpus, found.found_by, child.calls) == ((), "", calls)


def test_a_torch_that_cannot_say_is_a_failure(bare_machine, tools, child):
    child.answer = "exit code 1: ImportError"
    assert hardware.find_hardware(torch_of("xpu"), tools.environment).failures == {"torch": "exit code 1: ImportError"}


class FakeBackend:
    """Stands for torch.cuda: fails on whatever would make a context on a device that has none."""

    def __init__(self, is_initialised):
        self.is_initialized = lambda: is_initialised
        self.device_count = lambda: 2
        self.current_device = lambda: 1

    def is_available(self):
        raise AssertionError("asks the driver")

    def get_device_properties(self, index):
        return SimpleNamespace(name=f"card {index}", total_memory=100, major=9, minor=0, gcnArchName="gfx942:x")

    def mem_get_info(self, index):
        assert index == self.current_device()
        return 40, 100


def fake_torch(is_initialised, hip=None):
    return SimpleNamespace(cuda=FakeBackend(is_initialised), version=SimpleNamespace(hip=hip))


def test_a_torch_at_work_is_asked_in_this_process(bare_machine, tools, child, monkeypatch):
    monkeypatch.setattr(build, "loaded_torch", lambda: fake_torch(True))
    found = hardware.find_hardware(torch_of(), tools("nvidia-smi", SMI))
    assert found.found_by == "torch in this process"
    assert [(gpu.device, gpu.name, gpu.free_bytes) for gpu in found.gpus] == [
        ("cuda:0", "card 0", None),
        ("cuda:1", "card 1", 40),
    ]
    assert not (tools.folder / "nvidia-smi.calls").exists()


def test_a_torch_that_has_not_used_a_gpu_is_left_alone(bare_machine, tools, child, monkeypatch):
    monkeypatch.setattr(build, "loaded_torch", lambda: fake_torch(False))
    assert hardware.find_hardware(torch_of(), tools("nvidia-smi", SMI)).found_by == "nvidia-smi"


def test_rocm_is_told_from_cuda():
    facts = devices.describe(fake_torch(True, hip="6.4"), only_in_use=True)
    assert [(each["vendor"], each["architecture"]) for each in facts] == [("amd", "gfx942")] * 2


def test_the_real_torch_in_a_second_process():
    assert hardware.ask_torch(build.installed_torch()) == [
        hardware.Gpu(**facts) for facts in devices.describe(torch, only_in_use=False)
    ]


def test_a_broken_torch_in_a_second_process(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('libcudart.so.13: cannot open')")
    assert "libcudart.so.13: cannot open" in hardware.ask_torch(torch_of(folder=str(tmp_path)))


def test_the_bus(tmp_path):
    for name, kind, vendor in [
        ("0", "0x030000", "0x10de"), ("1", "0x020000", "0x8086"), ("2", "0x120000", "0x1002"), ("3", "0x038000", "0x1"),
    ]:  # fmt: skip
        (tmp_path / name).mkdir()
        (tmp_path / name / "class").write_text(kind + "\n")
        (tmp_path / name / "vendor").write_text(vendor + "\n")
    assert hardware.adapters(tmp_path) == {"nvidia", "amd"}
    assert hardware.adapters(tmp_path / "none") == frozenset()


def test_nothing_is_started_where_torch_is_at_work(bare_machine, monkeypatch):
    monkeypatch.setattr(build, "loaded_torch", lambda: fake_torch(True))
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: pytest.fail("a process was started"))
    assert len(hardware.find_hardware(torch_of(), {}).gpus) == 2
