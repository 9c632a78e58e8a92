"""A runtime on a small strict simulated card, and ways to make it fail."""

from __future__ import annotations

import gc
import math
from contextlib import ExitStack, contextmanager

import torch
from mizuoto.mizuoto_runtime.context import RequestContext
from mizuoto.mizuoto_runtime.device import CPU, DeviceService
from mizuoto.mizuoto_runtime.memory.manager import MemoryManager
from mizuoto.mizuoto_runtime.memory.streamer import never
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.mizuoto_runtime.settings import Settings
from mizuoto.mizuoto_runtime.simulate import SimulatedOutOfMemory
from mizuoto.mizuoto_runtime.snapshot import snapshot
from mizuoto.tests.contract import subjects

GPU = torch.device("cuda", 0)
ROOMY = 1 << 40


class Watched(MemoryManager):
    """The real manager; notes (least bytes of weights, working bytes, bytes left free) of every phase."""

    def __init__(self, devices, settings):
        super().__init__(devices, settings)
        self.phases = []

    def place(self, handles, working_bytes):
        super().place(handles, working_bytes)
        least = sum(handle.minimum_bytes for handle in handles)
        self.phases.append((least, working_bytes, self._devices.memory(GPU)[0]))


class Shares(MemoryManager):
    """Gives every handle the same share of what lies between its minimum and its size, whatever is free."""

    share, num_places = 1.0, 0

    def allowed(self, handle):
        return handle.minimum_bytes + int(self.share * (handle.size_bytes - handle.minimum_bytes))

    def place(self, handles, working_bytes):
        self.num_places += 1
        for handle in handles:
            handle.place(self.allowed(handle) - handle.loaded_bytes)


class Card:
    """One runtime; `capacity` None is the plain CPU."""

    def __init__(self, capacity=ROOMY, manager=Watched, **settings):
        self.device = CPU if capacity is None else GPU
        self.devices = DeviceService(None if capacity is None else {"cuda:0": capacity})
        chosen = Settings(**{"vram_reserve_mb": 0, **settings})
        self.memory = manager(self.devices, chosen)
        self.runtime = Runtime(chosen, self.devices, self.memory)
        self.simulated = self.devices.simulated.get(GPU)

    def load(self, subject):
        return subject.load(self.runtime, self.device)

    def run(self, subject, model, request, **hooks):
        """(every output, the report); whatever happens, the process is left as it was (S045) and nothing is in use."""
        ctx, before = self.runtime.context(request[0], **hooks), snapshot()
        try:
            return subjects.outputs(subject, model, request, ctx), ctx.report
        finally:
            assert snapshot() == before
            assert in_use(model) == []

    def clear(self, models, capacity=ROOMY):
        """Take everything off the card, which then has another size."""
        for handle in handles_of(*models):
            handle.release()
        assert self.simulated.used_bytes == 0
        self.simulated.total_bytes, self.simulated.peak_bytes = capacity, 0


def handles_of(*models):
    return [handle for model in models for handle in model.handles]


def in_use(model):
    """Names of what a request has not let go of: handles, units, slots."""
    names = []
    for handle in model.handles:
        slots = handle._streamer.ring.slots if handle._streamer else []
        names += [handle.name] if handle.is_busy or handle.gate.check is not never else []
        names += [f"{handle.name}: unit {pack.unit.name}" for pack in handle._packs if pack.depth]
        names += [f"{handle.name}: slot of {slot.pack.unit.name}" for slot in slots if slot.is_used]
    return names


class Trap:
    """Raises when the forward number `at` of an attempt ends, in the first `times` attempts that come so far.

    All modules of a handle count, so whatever a forward draws is drawn by then.
    """

    def __init__(self, card, handle, at=math.inf, times=1, error=SimulatedOutOfMemory):
        self.most, self.raised = 0, 0  # forwards of the longest attempt; how often it has snapped
        self._card, self._at, self._times, self._error = card, at, times, error
        self._calls, self._attempt = 0, None
        self._modules = list(handle.module.modules())

    def __enter__(self):
        self._stack = ExitStack()
        for module in self._modules:
            # In front of the streamer's hooks: a unit that snaps is still in use.
            self._stack.enter_context(module.register_forward_hook(self._count, prepend=True))
        return self

    def __exit__(self, *_):
        self._stack.close()

    def _count(self, *_):
        if self._attempt != self._card.memory.num_places:
            self._attempt, self._calls = self._card.memory.num_places, 0
        self._calls += 1
        self.most = max(self.most, self._calls)
        if self._calls == self._at and self.raised < self._times:
            self.raised += 1
            raise self._error("out of memory, for a test")


@contextmanager
def noting_retried(monkeypatch):
    """Gives the names of handles whose phases are run by `RequestContext.run`, which reruns them."""
    names, run = set(), RequestContext.run

    def noting(self, phase, handles, *args, **kwargs):
        names.update(handle.name for handle in handles)
        return run(self, phase, handles, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(RequestContext, "run", noting)
        yield names


def live_tensors():
    gc.collect()
    return sum(issubclass(type(thing), torch.Tensor) for thing in gc.get_objects())
