"""Streaming on a real card: `python tests/bench/gpu.py [--tiny]` prints a JSON row for every figure (MEMORY G0-G8).

Without CUDA every step runs on a simulated card, and rows that only a card can judge have no bar. Every timing stands
beside its floor from the same run. Steps that need the Qwen3 decoder or captured graphs (G3, G4, and the graph halves
of G2 and G5) are not part of it.
"""

from __future__ import annotations

import argparse
import json
import runpy
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
if "mizuoto" not in sys.modules:
    runpy.run_path(str(CONFTEST))

import torch  # noqa: E402
from mizuoto.mizuoto_runtime.device import DeviceService  # noqa: E402
from mizuoto.mizuoto_runtime.memory.clock import Work, run_passes  # noqa: E402
from mizuoto.mizuoto_runtime.memory.handle import ModelHandle  # noqa: E402
from mizuoto.mizuoto_runtime.memory.pack import Pack  # noqa: E402
from mizuoto.mizuoto_runtime.memory.pinning import CudaPins, HostBuffer, Pinner, can_pin_in_place  # noqa: E402
from mizuoto.mizuoto_runtime.memory.ring import CopyQueue, Ring, Slot, StreamQueue, SyncQueue, queue_for  # noqa: E402
from mizuoto.mizuoto_runtime.memory.streamer import Gate, Streamer  # noqa: E402
from mizuoto.mizuoto_runtime.memory.units import layout_of  # noqa: E402
from mizuoto.mizuoto_runtime.runtime import Runtime  # noqa: E402
from mizuoto.mizuoto_runtime.settings import Settings  # noqa: E402
from mizuoto.tests.bench.body import Shape, built, check_equal, example, row  # noqa: E402
from torch import nn  # noqa: E402

CARD = torch.device("cuda", 0)
MB = 1 << 20
PATIENT, HASTY = 7, 2  # rounds of which the best counts


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
    def rounds(self) -> int:
        return HASTY if self.is_tiny else PATIENT

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
        return built(self.shape, dtype=self.dtype)

    def forward(self, body: nn.Module, hidden: torch.Tensor) -> Callable[[], torch.Tensor]:
        def run() -> torch.Tensor:
            with torch.inference_mode():
                return body(hidden)

        return run


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
    return Streamer(streaming, ring, queue or queue_for(bench.devices, CARD), Gate(), is_early)


def g0_ceilings(bench: Bench) -> Iterator[dict]:
    """What the link and the memory give: the yardstick for everything below."""
    for num_bytes in (MB,) if bench.is_tiny else (64 * MB, 1024 * MB):
        size = f"{num_bytes // MB} MB"
        there, target = (torch.empty(num_bytes, dtype=torch.uint8, device=bench.device) for _ in range(2))
        inside_s = bench.best_s(lambda there=there, target=target: target.copy_(there), 3)
        yield bench.row(
            f"G0-device-{size}", "GB/s within the device, read + written", 2e-9 * num_bytes / inside_s, None, None
        )
        buffer = HostBuffer(num_bytes)
        buffer.tensor.fill_(1)
        pageable_s = bench.best_s(lambda target=target, buffer=buffer: target.copy_(buffer.tensor), 3)
        yield bench.row(
            f"G0-pageable-{size}", "GB/s to the device, pageable", 1e-9 * num_bytes / pageable_s, None, None
        )
        if not bench.has_cuda:
            continue
        start = time.perf_counter()
        pinner = bench.pinner()
        if not pinner.pin(buffer, CARD):
            raise AssertionError(f"{size} could not be pinned in place")
        registering_s, start = time.perf_counter() - start, time.perf_counter()
        pinned = torch.empty(num_bytes, dtype=torch.uint8).pin_memory()
        pinning_s = time.perf_counter() - start
        registered_s, pinned_s = (
            bench.best_s(lambda target=target, source=source: target.copy_(source, non_blocking=True), 3)
            for source in (buffer.tensor, pinned)
        )
        yield bench.row(
            f"G0-register-{size}", "s to register in place, against pin_memory()", registering_s, pinning_s, 1
        )
        yield bench.row(
            f"G0-registered-{size}", "s to the device, registered against pinned", registered_s, pinned_s, 1 / 0.95
        )


def g1_streamed(bench: Bench) -> Iterator[dict]:
    """Everything streams: against its floor and against others, few and many tokens."""
    resident = bench.body().to(bench.device)
    ours, streamer = stream_all(bench)
    rivals = {name: made for name, make in RIVALS.items() if (made := make(bench)) is not None}
    yield from ({"id": f"G1-{name}", "skipped": name} for name in RIVALS if name not in rivals)
    link_s = copying_s(bench, streamer)
    for num_tokens in (1, 4, 16) if bench.is_tiny else (1, 1024, 16384):
        hidden = example(bench.shape, num_tokens, bench.dtype).to(bench.device)
        resident_s = bench.best_s(bench.forward(resident, hidden))
        check_equal(ours, hidden, bench.forward(resident, hidden)())
        ours_s = bench.best_s(bench.forward(ours, hidden))
        what, floor_s = f"s a pass of {num_tokens} tokens, all streamed", max(link_s, resident_s)
        yield bench.row(
            f"G1-floor-{num_tokens}", f"{what}, against the longer of copies and compute", ours_s, floor_s, 1.10
        )
        if num_tokens > 10_000:
            yield bench.row(f"G1-resident-{num_tokens}", f"{what}, against resident", ours_s, resident_s, 1.10)
        for name, rival in rivals.items():
            rival_s = bench.best_s(bench.forward(rival, hidden))
            yield bench.row(f"G1-{name}-{num_tokens}", f"{what}, against {name}", ours_s, rival_s, BARS[name])
    streamer.close()


def copying_s(bench: Bench, streamer: Streamer) -> float:
    """Seconds to copy every streamed unit, one after the other, and nothing else."""
    target = torch.empty(streamer.ring.slot_bytes, dtype=torch.uint8, device=bench.device)
    sources = [pack.host for pack in streamer.packs]

    def copy_all() -> None:
        for source in sources:
            target[: source.nbytes].copy_(source, non_blocking=True)

    return bench.best_s(copy_all)


def diffusers_body(bench: Bench) -> nn.Module | None:
    """Block offloading with a side stream, or None where it is not installed or there is no stream."""
    try:
        from diffusers.hooks import apply_group_offloading
    except ImportError:
        return None
    if not bench.has_cuda:
        return None
    body = bench.body()
    apply_group_offloading(
        body, onload_device=CARD, offload_type="block_level", num_blocks_per_group=1, use_stream=True, non_blocking=True
    )
    return body


def accelerate_body(bench: Bench) -> nn.Module | None:
    """Offloading to the CPU, or None where it is not installed."""
    try:
        from accelerate import cpu_offload
    except ImportError:
        return None
    return cpu_offload(bench.body(), execution_device=bench.device)


RIVALS: dict[str, Callable[[Bench], nn.Module | None]] = {"diffusers": diffusers_body, "accelerate": accelerate_body}
BARS = {"diffusers": 0.9, "accelerate": 0.5}


def g2_placements(bench: Bench) -> Iterator[dict]:
    """Partly resident, one token: which units stream and when copies are issued, against the virtual clock."""
    num_units = bench.shape.num_layers
    room = num_units * 20 // 28
    resident = bench.body().to(bench.device)
    hidden = example(bench.shape, 1, bench.dtype).to(bench.device)
    expected = bench.forward(resident, hidden)()
    resident_s = bench.best_s(bench.forward(resident, hidden), 4)
    measured: dict[str, float] = {}
    modelled: dict[str, float] = {}
    for where in ("suffix", "spread"):
        for num_slots, is_early in ((1, False), (1, True), (2, True)):
            name = f"{where}-{'early' if is_early else 'demand'}-{num_slots}"
            stay = room - num_slots
            count = num_units - stay
            out = (
                {int((i + 0.5) * num_units / count) for i in range(count)}
                if where == "spread"
                else set(range(stay, num_units))
            )
            body = bench.body()
            streamer = stream(bench, body, set(range(num_units)) - out, num_slots, is_early)
            check_equal(body, hidden, expected)
            measured[name] = bench.best_s(bench.forward(body, hidden), 4)
            unit_bytes = [pack.num_bytes for pack in streamer.packs][:1] * num_units
            link_s = copying_s(bench, streamer) / count * num_units
            work = Work.in_proportion(unit_bytes, resident_s, link_s)
            modelled[name] = run_passes(work, set(range(num_units)) - out, num_slots, is_early=is_early).steady_s
            what = f"s a token, room for {room} of {num_units}, {name}, against the virtual clock"
            yield bench.row(f"G2-{name}", what, measured[name], modelled[name], None)
            streamer.close()
    best = min(measured, key=measured.__getitem__)
    yield bench.row(
        "G2-best", f"s a token of the best, {best}, against its model", measured[best], modelled[best], 1.15
    )
    spread, suffix = (min(s for name, s in measured.items() if where in name) for where in ("spread", "suffix"))
    yield bench.row("G2-spread", "s a token, spread against suffix", spread, suffix, 1.0)


def g5_equality(bench: Bench) -> Iterator[dict]:
    """Streamed, halfway and whole give the same bits."""
    hidden = example(bench.shape, 3, bench.dtype).to(bench.device)
    expected = bench.forward(bench.body().to(bench.device), hidden)()
    handle = bench.runtime().handle("bench:body", bench.body(), CARD, kind="sequence")
    least, whole = handle.minimum_bytes, handle.size_bytes
    equal = 0
    for budget in (least, (least + whole) / 2, whole):
        handle.release()
        handle.place(budget)
        equal += all(torch.equal(bench.forward(handle.module, hidden)(), expected) for _ in range(2))
    exact = row("G5", "budgets (streamed, halfway, whole) whose output is the resident one bit for bit", equal, 3, 1.0)
    yield exact | {"holds": equal == 3}


def g6_retry(bench: Bench) -> Iterator[dict]:
    """Memory that runs out in the middle: the same output after at most two retries."""
    hidden = example(bench.shape, 3, bench.dtype).to(bench.device)
    expected = bench.forward(bench.body().to(bench.device), hidden)()
    runtime = bench.runtime()
    handle = runtime.handle("bench:body", bench.body(), CARD)
    block = handle.size_bytes * 3 // 4
    limit_memory(bench, handle.size_bytes + block // 2 + (0 if bench.is_tiny else 64 * MB))
    ctx = runtime.context()
    attempts: list[float] = []

    def work() -> torch.Tensor:
        attempts.append(time.perf_counter())
        taken = bench.devices.allocate(block, CARD)
        output = handle.module(hidden)
        bench.devices.forget(taken.nbytes, CARD)
        return output

    output = ctx.run("forward", [handle], work)
    bench.devices.synchronize(CARD)
    seconds = time.perf_counter() - attempts[0]
    limit_memory(bench, None)
    retries = ctx.report.applied.get("oom_retries", 0)
    exact = row("G6", "retries after memory ran out in the middle", retries, None, 2)
    yield exact | {"holds": 1 <= retries <= 2 and torch.equal(output, expected)}
    yield bench.row("G6-time", "s with the failed attempt and moving the weights", seconds, None, None)


def limit_memory(bench: Bench, num_bytes: int | None) -> None:
    """Give this process `num_bytes` of the card, or all of it again."""
    total = bench.devices.memory(CARD)[1]
    if bench.has_cuda:
        torch.cuda.empty_cache()
        held = torch.cuda.memory_allocated(CARD)
        torch.cuda.set_per_process_memory_fraction(1.0 if num_bytes is None else (held + num_bytes) / total, CARD)
    else:
        simulated = bench.devices.simulated[CARD]
        simulated.total_bytes = 1 << 34 if num_bytes is None else simulated.used_bytes + num_bytes


def g7_accounting(bench: Bench) -> Iterator[dict]:
    """What a handle says it holds, against what the device says."""
    before = bench.devices.held_bytes(CARD)
    handle = ModelHandle("bench:body", bench.body(), CARD, bench.devices)
    off: list[float] = []
    for budget in (handle.minimum_bytes, handle.size_bytes):
        handle.place(budget)
        off.append(abs(bench.devices.held_bytes(CARD) - before - handle.loaded_bytes) / MB)
        handle.release()
    yield row("G7-held", "MB between what a handle says it holds and what the device says", max(off), None, 2)
    left = abs(bench.devices.held_bytes(CARD) - before) / MB
    yield row("G7-released", "MB still held after release", left, None, 1)


def g8_overlap(bench: Bench) -> Iterator[dict]:
    """How much of a pass of one token the copy engine works."""
    queue = ClockedStreamQueue(CARD) if bench.has_cuda else ClockedQueue()
    body, streamer = stream_all(bench, queue)
    hidden = example(bench.shape, 1, bench.dtype).to(bench.device)
    run, passes = bench.forward(body, hidden), 4
    run()
    best = float("inf"), 1.0
    for _ in range(bench.rounds):
        bench.devices.synchronize(CARD)
        queue.taken_s()
        start = time.perf_counter()
        for _ in range(passes):
            run()
        bench.devices.synchronize(CARD)
        wall_s = time.perf_counter() - start
        best = min(best, (wall_s, queue.taken_s()))
    wall_s, busy_s = best
    yield bench.row("G8", f"s of {passes} tokens all streamed, against the copies alone", wall_s, busy_s, 1 / 0.92)
    streamer.close()


STEPS = (g0_ceilings, g1_streamed, g2_placements, g5_equality, g6_retry, g7_accounting, g8_overlap)


def main() -> int:
    """Run every step; 1 if a bar does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="sizes that a CPU does in seconds; always without CUDA")
    options = parser.parse_args()
    torch.set_num_threads(1)
    has_cuda = torch.cuda.is_available()
    bench = Bench(
        options.tiny or not has_cuda, has_cuda, DeviceService(None if has_cuda else {str(CARD): 1 << 34}, False)
    )
    good = True
    for step in STEPS:
        for found in step(bench):
            good = good and found.get("holds") is not False
            print(json.dumps(found), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
