"""Our speed on a real card: `python tests/bench/gpu.py [--tiny] [--steps g3 g4]` prints a JSON row for every figure.

Steps and bars are MEMORY's G0-G8. Without CUDA every step runs on a simulated card, rows that only a card can judge
have no bar, and what would be recorded is "eager only". Every timing stands beside its floor from the same run.
"""

from __future__ import annotations

import argparse
import json
import runpy
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
if "mizuoto" not in sys.modules:
    runpy.run_path(str(CONFTEST))

import torch  # noqa: E402
from mizuoto.mizuoto_runtime.device import DeviceService  # noqa: E402
from mizuoto.mizuoto_runtime.memory.clock import Work, run_passes  # noqa: E402
from mizuoto.mizuoto_runtime.memory.handle import ModelHandle  # noqa: E402
from mizuoto.mizuoto_runtime.memory.pinning import HostBuffer  # noqa: E402
from mizuoto.mizuoto_runtime.memory.streamer import Streamer  # noqa: E402
from mizuoto.tests.bench.body import check_equal, example, row  # noqa: E402
from mizuoto.tests.bench.card import (  # noqa: E402
    CARD,
    MB,
    WARM_UP,
    Bench,
    ClockedQueue,
    ClockedStreamQueue,
    InlineQueue,
    copying_s,
    eager_only,
    exact_row,
    stream,
    stream_all,
)
from mizuoto.tests.bench.gpu_decode import g3_decode, g4_frames, g5_recorded  # noqa: E402
from torch import nn  # noqa: E402


def g0_ceilings(bench: Bench) -> Iterator[dict]:
    """What the link and the memory give: the yardstick for everything below."""
    for num_bytes in (MB,) if bench.is_tiny else (64 * MB, 1024 * MB):
        size = f"{num_bytes // MB} MB"
        rate = bench.copy_rate(num_bytes) / 1e9
        yield bench.row(f"G0-device-{size}", "GB/s within the device, read + written", rate, None, None)
        target = torch.empty(num_bytes, dtype=torch.uint8, device=bench.device)
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


PLACES = ("suffix", "spread")


def placed(bench: Bench, where: str, num_slots: int) -> set[int]:
    """Units that stay on the device with room for 20 of 28, slots included, and the others last or spread evenly."""
    num_units = bench.shape.num_layers
    stay = num_units * 20 // 28 - num_slots
    count = num_units - stay
    if where == "suffix":
        return set(range(stay))
    return set(range(num_units)) - {int((index + 0.5) * num_units / count) for index in range(count)}


def modelled_s(bench: Bench, streamer: Streamer, resident: set[int], resident_s: float, is_early: bool) -> float:
    """What the virtual clock says of a pass, given what the pass takes when all is resident."""
    num_units = bench.shape.num_layers
    unit_bytes = [pack.num_bytes for pack in streamer.packs][:1] * num_units
    link_s = copying_s(bench, streamer) / len(streamer.packs) * num_units
    work = Work.in_proportion(unit_bytes, resident_s, link_s)
    return run_passes(work, resident, len(streamer.ring.slots), is_early=is_early).steady_s


def g2_placements(bench: Bench) -> Iterator[dict]:
    """Partly resident, one token: which units stream and when copies are issued, against the virtual clock."""
    whole = bench.body().to(bench.device)
    hidden = example(bench.shape, 1, bench.dtype).to(bench.device)
    expected = bench.forward(whole, hidden)()
    resident_s = bench.best_s(bench.forward(whole, hidden), 4)
    measured: dict[str, float] = {}
    modelled: dict[str, float] = {}
    for where in PLACES:
        for num_slots, is_early in ((1, False), (1, True), (2, True)):
            name = f"{where}-{'early' if is_early else 'demand'}-{num_slots}"
            resident, body = placed(bench, where, num_slots), bench.body()
            streamer = stream(bench, body, resident, num_slots, is_early)
            check_equal(body, hidden, expected)
            measured[name] = bench.best_s(bench.forward(body, hidden), 4)
            modelled[name] = modelled_s(bench, streamer, resident, resident_s, is_early)
            what = f"s a token, {name}, against the virtual clock"
            yield bench.row(f"G2-{name}", what, measured[name], modelled[name], None)
            streamer.close()
    best = min(measured, key=measured.__getitem__)
    yield bench.row(
        "G2-best", f"s a token of the best, {best}, against its model", measured[best], modelled[best], 1.15
    )
    spread, suffix = (min(s for name, s in measured.items() if where in name) for where in ("spread", "suffix"))
    yield bench.row("G2-spread", "s a token, spread against suffix", spread, suffix, 1.0)


def g2_recorded(bench: Bench) -> Iterator[dict]:
    """The same recorded: parameters must stay where they are, so each streamed unit has its slot for good.

    Those copies are part of the recording, in the order of the computation; a recorded pass copies nothing ahead.
    """
    yield {"id": "G2-graph-early", "skipped": "parameters that go from slot to slot cannot be recorded"}
    whole = bench.body().to(bench.device)
    hidden = example(bench.shape, 1, bench.dtype).to(bench.device)
    expected = bench.forward(whole, hidden)()
    eager_s = resident_s = bench.best_s(bench.forward(whole, hidden), 4)
    if bench.can_capture:
        resident_s = bench.best_s(recorded(bench, whole, hidden, expected), 4)
        yield bench.row("G2-graph-resident", "s a token, recorded against eager", resident_s, eager_s, None)
    else:
        yield eager_only("G2-graph-resident")
    for where in PLACES:
        resident, body = placed(bench, where, 1), bench.body()
        streamer = stream(bench, body, resident, 1, queue=InlineQueue(), is_permanent=True)
        check_equal(body, hidden, expected)
        run: Callable[[], object] = bench.forward(body, hidden)
        name = f"G2-eager-{where}-permanent"
        what = "s a token, a slot for good, against the virtual clock"
        model_s = modelled_s(bench, streamer, resident, eager_s, False)
        yield bench.row(name, what, bench.best_s(run, 4), model_s, None)
        name = f"G2-graph-{where}-permanent"
        if bench.can_capture:
            run = recorded(bench, body, hidden, expected)
            model_s = modelled_s(bench, streamer, resident, resident_s, False)
            yield bench.row(name, f"{what}, recorded", bench.best_s(run, 4), model_s, 1.15)
        else:
            yield eager_only(name)
        streamer.close()


def recorded(bench: Bench, body: nn.Module, hidden: torch.Tensor, expected: torch.Tensor) -> Callable[[], None]:
    """A recorded pass of `body`, checked."""
    output = torch.empty_like(expected)

    @torch.inference_mode()
    def step() -> None:
        output.copy_(body(hidden))

    for _ in range(WARM_UP):
        step()
    with torch.inference_mode():
        replay = bench.captured(step)
    for _ in range(2):
        output.zero_()
        replay()
        if not torch.equal(output, expected):
            raise AssertionError("a recorded pass gives another output")
    return replay


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
    yield exact_row("G5", "budgets (streamed, halfway, whole) whose output is the resident one bit for bit", equal, 3)


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


# Recordings come last: one that fails may leave the device unusable.
STEPS: dict[str, Callable[[Bench], Iterator[dict]]] = {
    "g0": g0_ceilings,
    "g1": g1_streamed,
    "g2": g2_placements,
    "g5": g5_equality,
    "g6": g6_retry,
    "g7": g7_accounting,
    "g8": g8_overlap,
    "g3": g3_decode,
    "g4": g4_frames,
    "g5-graph": g5_recorded,
    "g2-graph": g2_recorded,
}


def rows(bench: Bench, steps: Iterable[str]) -> Iterator[dict]:
    """The rows of all steps; one that fails has a row that says so and does not keep the others from their time."""
    for name in steps:
        try:
            yield from STEPS[name](bench)
        except Exception as error:  # noqa: BLE001 - its row says so
            traceback.print_exc()
            yield {"id": name.upper(), "what": f"failed: {error!r}", "holds": False}


def main() -> int:
    """Run the steps; 1 if a bar does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="sizes that a CPU does in seconds; always without CUDA")
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS), metavar="STEP", help="default: all")
    options = parser.parse_args()
    torch.set_num_threads(1)
    has_cuda = torch.cuda.is_available()
    bench = Bench(
        options.tiny or not has_cuda, has_cuda, DeviceService(None if has_cuda else {str(CARD): 1 << 34}, False)
    )
    good = True
    for found in rows(bench, options.steps):
        good = good and found.get("holds") is not False
        print(json.dumps(found), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
