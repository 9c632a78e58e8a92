"""Every engine says exactly the same however much of it is on the device, and after a retry (MEMORY C12)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from mizuoto import engines
from mizuoto.engines import speech
from mizuoto.engines.base import LoadSpec
from mizuoto.mizuoto_runtime.context import RequestContext
from mizuoto.mizuoto_runtime.device import CPU, DeviceService
from mizuoto.mizuoto_runtime.memory.handle import ALL, ModelHandle
from mizuoto.mizuoto_runtime.memory.manager import MemoryManager
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.mizuoto_runtime.settings import Settings
from mizuoto.mizuoto_runtime.simulate import SimulatedOutOfMemory

CARD = torch.device("cuda", 0)
TEXT = "One voice. The same on every card."
SEED = 3
BUDGETS: dict[str, Callable[[ModelHandle], float]] = {
    "streamed": lambda handle: handle.minimum_bytes,
    "halfway": lambda handle: (handle.minimum_bytes + handle.size_bytes) / 2,
    "whole": lambda handle: ALL,
    "retried": lambda handle: ALL,
}


class FixedBudget(MemoryManager):
    """Places every handle anew within the bytes that `budget` gives it."""

    budget: Callable[[ModelHandle], float]

    def place(self, handles: Sequence[ModelHandle], working_bytes: int) -> None:
        for handle in handles:
            handle.release()
            handle.place(self.budget(handle))


def loaded(engine_id: str, device: torch.device, runtime: Runtime) -> Any:
    """The built-in model of an engine."""
    spec = LoadSpec(engine_id, engines.manifests()[engine_id].built_in, device, torch.float32)
    return engines.engine(engine_id).load(spec, runtime)


def spoken(engine: Any, ctx: RequestContext) -> torch.Tensor:
    """What it says."""
    return speech.speak(engine, TEXT, None, None, ctx).waveform


def fail_once(handle: ModelHandle) -> None:
    """Run out of memory at the end of the next forward, when its random numbers are drawn."""

    def fail(*_: Any) -> None:
        hook.remove()
        raise SimulatedOutOfMemory("simulated device out of memory")

    hook = handle.module.register_forward_hook(fail)


def differences(engine_id: str) -> list[str]:
    """The budgets whose output is not bit for bit that of the plain CPU, or that were not what they are called."""
    plain = Runtime(Settings(), DeviceService())
    expected = spoken(loaded(engine_id, CPU, plain), plain.context(SEED))
    wrong = []
    for name, budget in BUDGETS.items():
        settings, devices = Settings(vram_reserve_mb=0), DeviceService({str(CARD): 64 << 30})
        memory = FixedBudget(devices, settings)
        memory.budget = budget
        runtime = Runtime(settings, devices, memory)
        engine, ctx = loaded(engine_id, CARD, runtime), runtime.context(SEED)
        if name == "retried":
            for handle in engine.handles:
                fail_once(handle)
        same = torch.equal(spoken(engine, ctx), expected)
        has_streamed = any(figures["streamed_mb"] > 0 for figures in ctx.report.memory.values())
        was_retried = ctx.report.applied.get("oom_retries", 0) >= len(engine.handles)
        as_named = was_retried if name == "retried" else has_streamed == (name != "whole")
        if not (same and as_named):
            wrong.append(f"{engine_id} {name}" if same else f"{engine_id} {name}: other samples")
    return wrong


def run() -> Iterable[dict]:
    """One row for all engines that have a built-in model."""
    torch.set_num_threads(1)
    ids = [name for name, manifest in engines.manifests().items() if manifest.built_in]
    wrong = [text for engine_id in ids for text in differences(engine_id)]
    total = len(ids) * len(BUDGETS)
    yield {
        "id": "C12",
        "what": f"outputs equal to the plain CPU's, {', '.join(ids)}: {', '.join(BUDGETS)}; wrong: {wrong or 'none'}",
        "ours": total - len(wrong),
        "other": total,
        "ratio": (total - len(wrong)) / total,
        "bar": 1.0,
        "holds": not wrong and total > 0,
    }
