"""Devices by name: what they are, how much memory they have, which dtypes they compute in, how tensors get there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import torch

from .errors import ComputeUnavailable, InvalidRequest
from .ram import ram_bytes
from .simulate import SimulatedDevice

CPU = torch.device("cpu")
DTYPES: dict[str, torch.dtype] = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
_NAME = re.compile(r"cpu|mps|(?:cuda|xpu)(?::[0-9]{1,2})?")  # torch wraps larger indices around
# fp16 on the GTX 16xx series returns NaN from several convolution kernels.
_BROKEN_FP16 = re.compile(r"GTX 16\d\d|\bT(?:500|550|600|1000|1200|2000)\b")


class DeviceService:
    """The device half of `comfy.model_management`, as an object without global state (S006).

    Args:
        simulate: Device name -> bytes; those devices are played by the CPU (S174).
        strict: Passed to each `SimulatedDevice`.
    """

    def __init__(self, simulate: Mapping[str, int] | None = None, strict: bool = True) -> None:
        self.simulated = {self.parse(name): SimulatedDevice(size, strict) for name, size in (simulate or {}).items()}

    @staticmethod
    def parse(name: str) -> torch.device:
        """The device called `name`: "cpu", "mps", "cuda:N" or "xpu:N" (no index means 0).

        Raises:
            InvalidRequest: No such form of name.
        """
        if not _NAME.fullmatch(str(name)):  # API users may send a number
            raise InvalidRequest(f'"{name}" is no device name; use auto, cpu, mps, cuda:0 or xpu:0.')
        kind, _, index = name.partition(":")
        return torch.device(kind, int(index or 0)) if kind in ("cuda", "xpu") else torch.device(kind)

    def available(self) -> list[torch.device]:
        """Every device that can be used now, accelerators first, the CPU last."""
        found = list(self.simulated)
        for kind in ("cuda", "xpu"):
            backend = getattr(torch, kind, None)
            if backend is not None and backend.is_available():
                found += [torch.device(kind, index) for index in range(backend.device_count())]
        if torch.backends.mps.is_available():
            found.append(torch.device("mps"))
        return [*dict.fromkeys(device for device in found if device != CPU), CPU]

    def require(self, device: torch.device) -> torch.device:
        """`device` if it can be used now.

        Raises:
            ComputeUnavailable: It cannot; the text lists what can.
        """
        available = self.available()
        if device not in available:
            names = ", ".join(map(str, available))
            raise ComputeUnavailable(f'Device "{device}" is not usable on this machine; choose one of: {names}.')
        return device

    def is_managed(self, device: torch.device) -> bool:
        """Whether weights must be moved there; plain CPU memory is where they already are (S026)."""
        return device.type != "cpu" or device in self.simulated

    def compute_device(self, device: torch.device) -> torch.device:
        """Where tensors of a model on `device` really live: the CPU for a simulated device."""
        return CPU if device in self.simulated else device

    def copy_in(self, tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
        """A copy of a CPU tensor on `device`; a simulated device counts it and may raise `SimulatedOutOfMemory`."""
        simulated = self.simulated.get(device)
        return simulated.copy_in(tensor) if simulated else tensor.to(device)

    def allocate(self, num_bytes: int, device: torch.device) -> torch.Tensor:
        """[num_bytes] uint8 on `device`, uninitialised; a simulated device counts it like `copy_in`."""
        if device in self.simulated:
            self.simulated[device].allocate(num_bytes)
        return torch.empty(num_bytes, dtype=torch.uint8, device=self.compute_device(device))

    def copies_overlap(self, device: torch.device) -> bool:
        """Whether a copy can run beside the computation: on CUDA and ROCm streams."""
        return self.compute_device(device).type == "cuda"

    def forget(self, num_bytes: int, device: torch.device) -> None:
        """Tell a simulated device that `num_bytes` made by `copy_in` are gone; elsewhere the allocator knows."""
        if device in self.simulated:
            self.simulated[device].free(num_bytes)

    def is_strict(self, device: torch.device) -> bool:
        """Whether weights that are not on `device` must be unusable (S175)."""
        return device in self.simulated and self.simulated[device].strict

    def memory(self, device: torch.device) -> tuple[int, int]:
        """(free, total) bytes; memory that torch caches but does not use counts as free (S010)."""
        if device in self.simulated:
            return self.simulated[device].free_bytes, self.simulated[device].total_bytes
        if device.type in ("cuda", "xpu"):
            backend = getattr(torch, device.type)
            free, total = backend.mem_get_info(device)
            return free + backend.memory_reserved(device) - backend.memory_allocated(device), total
        if device.type == "mps":
            total = torch.mps.recommended_max_memory()
            return max(0, total - torch.mps.current_allocated_memory()), total
        return self.host_memory()

    @staticmethod
    def host_memory() -> tuple[int, int]:
        """(free, total) bytes of host memory; 0 for what the system does not tell."""
        total, free = ram_bytes()
        return free or 0, total or 0

    def shares_memory(self, device: torch.device) -> bool:
        """Whether its memory is host memory: MPS, and XPUs in the processor; never a simulated device."""
        if device in self.simulated:
            return False
        if device.type == "xpu" and torch.xpu.is_available():
            # Older versions of torch do not say; taken for a card, it works all the same.
            return bool(getattr(torch.xpu.get_device_properties(device), "is_integrated_gpu", False))
        return device.type == "mps"

    def held_bytes(self, device: torch.device) -> int:
        """What this process's tensors occupy there, other programs and torch's unused cache not counted."""
        if device in self.simulated:
            return self.simulated[device].used_bytes
        if device.type in ("cuda", "xpu"):
            return int(getattr(torch, device.type).memory_allocated(device))
        return torch.mps.current_allocated_memory() if device.type == "mps" else 0

    def allocated_bytes(self, device: torch.device) -> int:
        """Bytes in live tensors on `device`; 0 where nobody counts them."""
        simulated = self.simulated.get(device)
        if simulated:
            return simulated.used_bytes
        return getattr(torch, device.type).memory_allocated(device) if device.type in ("cuda", "xpu") else 0

    def reset_peak(self, device: torch.device) -> None:
        """Start measuring the peak of `allocated_bytes` anew."""
        simulated = self.simulated.get(device)
        if simulated:
            simulated.peak_bytes = simulated.used_bytes
        elif device.type in ("cuda", "xpu"):
            getattr(torch, device.type).reset_peak_memory_stats(device)

    def peak_bytes(self, device: torch.device) -> int:
        """The most `allocated_bytes` since `reset_peak`; 0 where nobody counts them."""
        simulated = self.simulated.get(device)
        if simulated:
            return simulated.peak_bytes
        return getattr(torch, device.type).max_memory_allocated(device) if device.type in ("cuda", "xpu") else 0

    def empty_cache(self, device: torch.device) -> None:
        """Give torch's unused cached memory back to the driver."""
        if device not in self.simulated and device.type != "cpu":
            getattr(torch, device.type).empty_cache()

    def synchronize(self, device: torch.device) -> None:
        """Wait until the device has done everything queued so far."""
        if device not in self.simulated and device.type != "cpu":
            getattr(torch, device.type).synchronize(*(() if device.type == "mps" else (device,)))  # there is one MPS

    def supports(self, device: torch.device, dtype: torch.dtype) -> bool:
        """Whether models compute correctly in `dtype` there (S012)."""
        real = self.compute_device(device)
        if dtype == torch.float32:
            return True
        if real.type == "cpu":
            return dtype == torch.bfloat16
        if real.type == "cuda":
            if dtype == torch.float16:
                return not _BROKEN_FP16.search(torch.cuda.get_device_name(real))
            return torch.cuda.is_bf16_supported()
        return True

    def pick_dtype(
        self, device: torch.device, requested: str, preferred: Sequence[str], engine: str = "This engine"
    ) -> torch.dtype:
        """The dtype to load a model in.

        Args:
            device: Where it will run.
            requested: "auto", "fp32", "bf16" or "fp16".
            preferred: The engine's dtypes on accelerators, best first; the CPU's automatic choice is fp32, which is
                always possible.
            engine: Its name, for messages.

        Raises:
            InvalidRequest: The engine or the device does not support `requested`.
        """
        if requested == "auto":
            if self.compute_device(device).type == "cpu":
                return torch.float32
            return next((DTYPES[name] for name in preferred if self.supports(device, DTYPES[name])), torch.float32)
        if requested not in (*preferred, "fp32"):
            names = ", ".join(dict.fromkeys((*preferred, "fp32")))
            raise InvalidRequest(f'{engine} does not run in {requested}; choose dtype "auto" or {names}.')
        if not self.supports(device, DTYPES[requested]):
            raise InvalidRequest(
                f'Device "{device}" does not compute {requested} correctly; choose dtype "auto" or "fp32".'
            )
        return DTYPES[requested]

    def float64_device(self, device: torch.device) -> torch.device:
        """`device`, or the CPU where it has no float64 (S014)."""
        real = self.compute_device(device)
        if real.type == "mps" or (real.type == "xpu" and not torch.xpu.get_device_properties(real).has_fp64):
            return CPU
        return real
