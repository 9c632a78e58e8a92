"""What the steps on a card share: sizes, the clock, rows, bodies that stream, steps that are recorded."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import nn

from ...mizuoto_runtime import ops
from ...mizuoto_runtime.device import DeviceService
from ...mizuoto_runtime.graphs import CapturedStep, can_capture
from ...mizuoto_runtime.memory.pack import Pack
from ...mizuoto_runtime.memory.pinning import CudaPins, Pinner, can_pin_in_place
from ...mizuoto_runtime.memory.ring import CopyQueue, Ring, Slot, StreamQueue, SyncQueue, queue_for
from ...mizuoto_runtime.memory.streamer import Gate, Streamer
from ...mizuoto_runtime.memory.units import layout_of
from ...mizuoto_runtime.runtime import Runtime
from ...mizuoto_runtime.settings import Settings
from .body import Shape, built, row

CARD = torch.device("cuda", 0)
MB = 1 << 20
PATIENT, HASTY = 7, 2  # rounds of which the best counts
WARM_UP = 3  # runs before a recording


@dataclass
class Bench:
    """Sizes, and how things are done on this machine's card."""

    is_tiny: bool
    has_cuda: bool
    devices: DeviceService

    @property
    def shape(self) -> Shape:
        return Shape(64, 6, head_dim=32) if self.is_tiny else Shape(2048, 28, head_dim=128)

    @property
    def dtype(self) -> torch.dtype:
        return torch.float32 if self.is_tiny else torch.bfloat16

    @property
    def device(self) -> torch.device:
        return self.devices.compute_device(CARD)

    @property
    def can_capture(self) -> bool:
        return can_capture(self.device)

    @property
    def rounds(self) -> int:
        return HASTY if self.is_tiny else PATIENT

    @cached_property
    def memory_rate(self) -> float:
        """Bytes a second that the device's memory reads and writes."""
        return self.copy_rate(MB if self.is_tiny else 1024 * MB)

    def copy_rate(self, num_bytes: int) -> float:
        """The same for copies of one size."""
        there, target = (torch.empty(num_bytes, dtype=torch.uint8, device=self.device) for _ in range(2))
        return 2 * num_bytes / self.best_s(lambda: target.copy_(there), 3)

    def runtime(self) -> Runtime:
        return Runtime(Settings(vram_mode="auto", vram_reserve_mb=0), self.devices)

    def pinner(self) -> Pinner:
        return Pinner(float("inf"), CudaPins() if can_pin_in_place() else None)

    def best_s(self, function: Callable[[], Any], repeats: int = 1) -> float:
        """Least wall time of a call, the device idle before and after."""
        best = float("inf")
        for _ in range(self.rounds):
            self.devices.synchronize(CARD)
            start = time.perf_counter()
            for _ in range(repeats):
                function()
            self.devices.synchronize(CARD)
            best = min(best, (time.perf_counter() - start) / repeats)
        return best

    def row(self, name: str, what: str, ours: float, other: float | None, bar: float | None) -> dict:
        """A timing: judged on a card only, and shown without a bar elsewhere."""
        if bar is not None and self.has_cuda and not self.is_tiny:
            return row(name, what, ours, other, bar)
        ratio = ours / other if other else ours
        return {"id": name, "what": what, "ours": ours, "other": other, "ratio": ratio, "bar": None, "holds": None}

    def body(self) -> nn.Module:
        return copy.deepcopy(self._body)  # drawing so many weights anew would take longer than most steps

    @cached_property
    def _body(self) -> nn.Module:
        return built(self.shape, dtype=self.dtype)

    @torch.inference_mode(False)
    def random(self, make: Callable[[], nn.Module]) -> nn.Module:
        """A module of always the same random weights, made where it is to be."""
        with torch.device("meta"):
            module = make().to(self.dtype)
        module = module.to_empty(device=self.device)
        with torch.device(self.device):
            ops.init_random(module, torch.Generator(self.device).manual_seed(0))
        return module.eval().requires_grad_(False)

    def forward(self, body: nn.Module, hidden: torch.Tensor) -> Callable[[], torch.Tensor]:
        def run() -> torch.Tensor:
            with torch.inference_mode():
                return body(hidden)

        return run

    def captured(self, step: Callable[[], None], generators: Sequence[torch.Generator] = ()) -> CapturedStep:
        """A recording of a step that has run before."""
        return CapturedStep(step, generators, self.device)


def exact_row(name: str, what: str, equal: int, total: int) -> dict:
    """A row that holds if all are equal."""
    return row(name, what, equal, total, 1.0) | {"holds": equal == total}


def eager_only(name: str) -> dict:
    """The row of a recording where nothing can be recorded."""
    return {"id": name, "skipped": "eager only"}


class InlineQueue(SyncQueue):
    """Copies in the order of the computation, as a recording can hold it, and lets the host go on."""

    def issue(self, slot: Slot, source: torch.Tensor) -> None:
        slot.buffer[: source.shape[0]].copy_(source, non_blocking=True)


class ClockedQueue(SyncQueue):
    """Copies on the spot and adds up how long that took."""

    def __init__(self) -> None:
        self._busy_s = 0.0

    def issue(self, slot: Slot, source: torch.Tensor) -> None:
        start = time.perf_counter()
        super().issue(slot, source)
        self._busy_s += time.perf_counter() - start

    def taken_s(self) -> float:
        """Seconds of copying since the last call."""
        taken, self._busy_s = self._busy_s, 0.0
        return taken


class ClockedStreamQueue(StreamQueue):
    """Puts timing events around every copy on the side stream."""

    def __init__(self, device: torch.device) -> None:
        super().__init__(device)
        self._spans: list[tuple[torch.cuda.Event, torch.cuda.Event]] = []

    def issue(self, slot: Slot, source: torch.Tensor) -> None:
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        if slot.free is not None:
            self._stream.wait_event(slot.free)  # the wait is no copying
        before.record(self._stream)
        super().issue(slot, source)
        after.record(self._stream)
        self._spans.append((before, after))

    def taken_s(self) -> float:
        """Seconds of copying since the last call; the device must be idle."""
        spans, self._spans = self._spans, []
        return sum(before.elapsed_time(after) for before, after in spans) / 1e3


def stream_all(bench: Bench, queue: CopyQueue | None = None, num_slots: int = 2) -> tuple[nn.Module, Streamer]:
    """A body of which every unit streams."""
    body = bench.body()
    return body, stream(bench, body, set(), num_slots, queue=queue)


def stream(
    bench: Bench,
    body: nn.Module,
    resident: set[int],
    num_slots: int,
    is_early: bool = True,
    queue: CopyQueue | None = None,
    is_permanent: bool = False,
) -> Streamer:
    """Stream the units of `body` that are not `resident` and put everything else on the device."""
    layout = layout_of(body, None)
    packs = [Pack(unit, is_strict=False) for unit in layout.units]
    pinner = bench.pinner()
    for pack in packs:
        pack.pin(pinner, CARD)
    for weight in layout.fixed:
        weight.point_at(weight.tensor.data.to(bench.device))
    for index in resident:
        packs[index].move_to(packs[index].host.to(bench.device))
    streaming = [pack for index, pack in enumerate(packs) if index not in resident]
    ring = Ring(num_slots, max(pack.num_bytes for pack in streaming), CARD, bench.devices)
    return Streamer(streaming, ring, queue or queue_for(bench.devices, CARD), Gate(), is_early, is_permanent)


def copying_s(bench: Bench, streamer: Streamer) -> float:
    """Seconds to copy every streamed unit, one after the other, and nothing else."""
    target = torch.empty(streamer.ring.slot_bytes, dtype=torch.uint8, device=bench.device)
    sources = [pack.host for pack in streamer.packs]

    def copy_all() -> None:
        for source in sources:
            target[: source.nbytes].copy_(source, non_blocking=True)

    return bench.best_s(copy_all)
