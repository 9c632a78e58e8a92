from types import SimpleNamespace

import pytest
import torch
from mizuoto.mizuoto_runtime.device import CPU, DeviceService
from mizuoto.mizuoto_runtime.errors import ComputeUnavailable, InvalidRequest
from mizuoto.mizuoto_runtime.simulate import SimulatedOutOfMemory

CUDA, XPU, MPS = torch.device("cuda", 0), torch.device("xpu", 0), torch.device("mps")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("cpu", CPU), ("mps", MPS), ("cuda", CUDA), ("cuda:0", CUDA), ("cuda:12", torch.device("cuda", 12)), ("xpu", XPU)],
)
def test_parse(name, expected):  # S007
    assert DeviceService.parse(name) == expected


@pytest.mark.parametrize(
    "name",
    ["", "auto", "CUDA:0", "cuda:", "cuda:-1", "cuda:x", "cuda:300", "cpu:0", "mps:0", " cpu", "cuda:0\n", "gpu"],
)
def test_parse_refuses(name):
    with pytest.raises(InvalidRequest, match="is no device name; use auto, cpu, mps, cuda:0 or xpu:0"):
        DeviceService.parse(name)


def test_simulated_devices_are_available_and_the_cpu_is_last():
    devices = DeviceService({"cpu": 1, "cuda:3": 100})
    found = devices.available()
    assert torch.device("cuda", 3) in found
    assert found[-1] == CPU
    assert found.count(CPU) == 1
    assert devices.require(torch.device("cuda", 3)) == torch.device("cuda", 3)


def test_require_lists_what_there_is():
    with pytest.raises(ComputeUnavailable, match=r'Device "xpu:77" is not usable.*choose one of: .*cpu\.'):
        DeviceService().require(torch.device("xpu", 77))


def test_what_is_managed():  # S026
    assert not DeviceService().is_managed(CPU)
    assert DeviceService({"cpu": 1}).is_managed(CPU)
    assert DeviceService().is_managed(CUDA)


def test_a_simulated_device_is_the_cpu():
    devices = DeviceService({"cuda:0": 100})
    assert devices.compute_device(CUDA) == CPU
    assert DeviceService().compute_device(CUDA) == CUDA
    assert devices.is_strict(CUDA)
    assert not DeviceService({"cuda:0": 1}, strict=False).is_strict(CUDA)
    assert not devices.is_strict(CPU)


def test_copies_are_counted():
    devices = DeviceService({"cuda:0": 100})
    source = torch.arange(10.0)
    copy = devices.copy_in(source, CUDA)
    assert torch.equal(copy, source)
    assert copy.data_ptr() != source.data_ptr()
    assert devices.memory(CUDA) == (60, 100)
    assert devices.held_bytes(CUDA) == 40
    with pytest.raises(SimulatedOutOfMemory):
        devices.copy_in(torch.zeros(16), CUDA)
    devices.forget(40, CUDA)
    assert devices.memory(CUDA) == (100, 100)


def test_allocations_are_counted():
    devices = DeviceService({"cuda:0": 100})
    buffer = devices.allocate(60, CUDA)
    assert (buffer.shape, buffer.dtype, buffer.device) == ((60,), torch.uint8, CPU)
    assert devices.memory(CUDA) == (40, 100)
    with pytest.raises(SimulatedOutOfMemory):
        devices.allocate(41, CUDA)
    devices.forget(60, CUDA)
    assert devices.memory(CUDA) == (100, 100)
    assert DeviceService().allocate(5, CPU).shape == (5,)


def test_copies_overlap_on_cuda_alone():  # S124, S130
    devices = DeviceService()
    assert [devices.copies_overlap(device) for device in (CUDA, XPU, MPS, CPU)] == [True, False, False, False]
    assert not DeviceService({"cuda:0": 1}).copies_overlap(CUDA)


def test_the_cpu_needs_nothing():
    devices = DeviceService()
    devices.forget(5, CPU)
    devices.empty_cache(CPU)
    devices.synchronize(CPU)
    free, total = devices.memory(CPU)
    assert 0 <= free <= total
    assert devices.held_bytes(CPU) == 0


def test_simulated_devices_have_no_cache_or_queue():
    devices = DeviceService({"cuda:0": 100})
    devices.empty_cache(CUDA)
    devices.synchronize(CUDA)


def fake_backend(**values):
    calls = []
    return SimpleNamespace(
        calls=calls,
        is_available=lambda: True,
        device_count=lambda: 2,
        mem_get_info=lambda device: (500, 1000),
        memory_reserved=lambda device: 300,
        memory_allocated=lambda device: 100,
        empty_cache=lambda: calls.append("empty"),
        synchronize=lambda *device: calls.append(("wait", *device)),
        **values,
    )


@pytest.mark.parametrize("kind", ["cuda", "xpu"])
def test_cached_memory_counts_as_free(monkeypatch, kind):  # S010, S011
    backend = fake_backend()
    monkeypatch.setattr(torch, kind, backend)
    devices, device = DeviceService(), torch.device(kind, 0)
    assert devices.memory(device) == (700, 1000)
    assert devices.held_bytes(device) == 100
    devices.empty_cache(device)
    devices.synchronize(device)
    assert backend.calls == ["empty", ("wait", device)]
    assert [torch.device(kind, 0), torch.device(kind, 1)] == [d for d in devices.available() if d.type == kind]


def test_cached_memory_counts_as_free_on_mps(monkeypatch):
    monkeypatch.setattr(torch.mps, "recommended_max_memory", lambda: 1000)
    monkeypatch.setattr(torch.mps, "driver_allocated_memory", lambda: 900)
    monkeypatch.setattr(torch.mps, "current_allocated_memory", lambda: 300)
    assert DeviceService().memory(MPS) == (700, 1000)
    assert DeviceService().held_bytes(MPS) == 300


@pytest.mark.parametrize(
    ("card", "works"), [("NVIDIA GeForce GTX 1660 Ti", False), ("NVIDIA T1000 8GB", False), ("NVIDIA H200", True)]
)
def test_fp16_is_broken_on_some_cards(monkeypatch, card, works):  # S012
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: card)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: False)
    devices = DeviceService()
    assert devices.supports(CUDA, torch.float16) is works
    assert devices.supports(CUDA, torch.float32)
    assert not devices.supports(CUDA, torch.bfloat16)
    assert devices.pick_dtype(CUDA, "auto", ("bf16", "fp16")) == (torch.float16 if works else torch.float32)


def test_dtypes_of_the_cpu():
    devices = DeviceService({"cuda:0": 1})
    for device in (CPU, CUDA):
        assert devices.supports(device, torch.bfloat16)
        assert not devices.supports(device, torch.float16)
        assert devices.pick_dtype(device, "auto", ("bf16", "fp32")) == torch.float32
    assert devices.pick_dtype(CPU, "bf16", ("bf16", "fp32")) == torch.bfloat16


def test_refused_dtypes():
    devices = DeviceService()
    with pytest.raises(InvalidRequest, match='does not run in bf16; choose dtype "auto" or fp32'):
        devices.pick_dtype(CPU, "bf16", ("fp32",))
    with pytest.raises(InvalidRequest, match='"cpu" does not compute fp16 correctly; choose dtype "auto" or "fp32"'):
        devices.pick_dtype(CPU, "fp16", ("fp16", "fp32"))


def test_float64(monkeypatch):  # S014
    devices = DeviceService()
    assert devices.float64_device(CPU) == CPU
    assert devices.float64_device(CUDA) == CUDA
    assert devices.float64_device(MPS) == CPU
    for has_fp64 in (True, False):
        properties = SimpleNamespace(has_fp64=has_fp64)
        backend = SimpleNamespace(get_device_properties=lambda device, found=properties: found)
        monkeypatch.setattr(torch, "xpu", backend)
        assert devices.float64_device(XPU) == (XPU if has_fp64 else CPU)


def test_mps_has_one_queue(monkeypatch):
    backend = fake_backend()
    monkeypatch.setattr(torch, "mps", backend)
    DeviceService().synchronize(MPS)
    assert backend.calls == [("wait",)]


def test_host_memory_as_psutil_tells():
    free, total = DeviceService.host_memory()
    assert 0 < free < total


def test_who_shares_memory_with_the_host(monkeypatch):
    properties = SimpleNamespace(is_integrated_gpu=True)
    monkeypatch.setattr(
        torch, "xpu", SimpleNamespace(is_available=lambda: True, get_device_properties=lambda _: properties)
    )
    devices = DeviceService()
    assert devices.shares_memory(MPS) and devices.shares_memory(XPU)
    assert not devices.shares_memory(CUDA) and not devices.shares_memory(CPU)
    assert not DeviceService({"xpu:0": 1}).shares_memory(XPU)
    properties.is_integrated_gpu = False
    assert not devices.shares_memory(XPU)
    del properties.is_integrated_gpu
    assert not devices.shares_memory(XPU)
