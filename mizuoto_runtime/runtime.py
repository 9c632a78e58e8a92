"""The process's models: what is loaded, for whom, and how to let go of it (S005, S091)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakValueDictionary

import torch
from torch import nn

from .attention import AttentionPolicy
from .byte_cache import ByteCache
from .context import RequestContext
from .description import describe_devices, describe_model
from .device import CPU, DeviceService
from .journal import Journal, nothing
from .memory.calibrate import Calibration
from .memory.handle import ModelHandle
from .memory.host import MemoryHost
from .memory.manager import MemoryManager
from .memory.pinning import CudaPins, PinBackend, Pinner, can_pin_in_place, pinned_memory
from .memory.plan import Kind
from .memory.policy import MB, VramPolicy, default_ram_reserve, policy_for
from .residency import IdleTimer, Limits, Pause, always, relieve, surplus
from .settings import COMPUTE, Settings

# What a handle is made with; a model that was loaded under other values is loaded again.
_PLACEMENT = ("vram_mode", "host_copies", "ram_reserve_mb", "async_offload")
_AT_START = tuple(setting.key.removeprefix("compute.") for setting in COMPUTE if setting.at_start)


class HasHandles(Protocol):
    """All the runtime knows of a loaded engine."""

    @property
    def handles(self) -> Sequence[ModelHandle]:
        """Everything that has weights."""
        ...


class Model:
    """One loaded model as a graph passes it on; owns the engine and, through it, handles and weights.

    After `drop` the weights are gone from the device and from host memory; the next use of `engine` loads them again,
    so a workflow that holds on to the model keeps working.
    """

    def __init__(
        self,
        name: str,
        load: Callable[[], HasHandles],
        before_load: Callable[[Model], object] = lambda model: None,
        after_load: Callable[[Model], object] = lambda model: None,
        attention: AttentionPolicy | None = None,
        clock: Callable[[], float] = time.monotonic,
        cache_bytes: int = 0,
    ) -> None:
        self.name = name
        self.lock = threading.RLock()  # one request at a time (S194)
        self._load = load
        self._before_load = before_load
        self._after_load = after_load
        self.attention = attention or AttentionPolicy()
        self._clock = clock
        self._loaded_at = 0.0
        self._engine: HasHandles | None = None
        self.settings: Settings | None = None  # what it follows; None before it is loaded
        # Finished segments of speech; they stay while the weights do, and go with them.
        self.cache: ByteCache[Any] = ByteCache(cache_bytes)

    @property
    def engine(self) -> Any:
        """The loaded engine, loaded outside inference mode (S061); raises what its loader raises."""
        with self.lock:
            if self._engine is None:
                self._before_load(self)
                with torch.inference_mode(False):
                    self._engine = self._load()
                self._loaded_at = self._clock()
                for handle in self._engine.handles:
                    self.attention.bind(handle.module)
                self._after_load(self)
            return self._engine

    @property
    def is_loaded(self) -> bool:
        """Whether it has its weights anywhere."""
        return self._engine is not None

    @property
    def last_used(self) -> float:
        """When it was loaded or a phase last used it, on the clock of `time.monotonic`."""
        return max([self._loaded_at, *(handle.last_used for handle in self.handles)])

    def get_ram_usage(self) -> int:
        """Bytes in host memory; ComfyUI's cache asks its entries when RAM is short (K8)."""
        return self.cache.num_bytes + sum(handle.host_bytes for handle in self.handles)

    @property
    def handles(self) -> tuple[ModelHandle, ...]:
        """The handles of the loaded engine; none while it is dropped."""
        engine = self._engine
        return () if engine is None else tuple(engine.handles)

    @property
    def is_busy(self) -> bool:
        """Whether a request is at work on it right now."""
        with self.idle() as is_idle:
            return not is_idle

    def drop(self) -> int:
        """Let go of the engine unless it is busy; returns the bytes freed anywhere."""
        with self.idle() as is_idle:
            if not is_idle:
                return 0
            freed = sum(handle.host_bytes + handle.loaded_bytes * handle.is_managed for handle in self.handles)
            freed += self.cache.num_bytes
            self.cache.clear()
            self._engine = None
            return freed

    @contextmanager
    def idle(self) -> Iterator[bool]:
        """Whether no request is at work, which stays so inside the block; never waits."""
        if not self.lock.acquire(blocking=False):  # another thread's request
            yield False
            return
        try:
            yield not any(handle.is_busy for handle in self.handles)
        finally:
            self.lock.release()


class Runtime:
    """One per process, built at the first model load (S005).

    Args:
        settings: Default: from the environment.
        devices: Default: the machine's own.
        memory: Default: the stand-alone manager.
        pins: Who pins host memory in place; default: nobody where there is a host, else the driver, on NVIDIA.
        pinned_copies: Allocates pinned host memory; default: nobody where there is a host, else torch, on its GPUs.
        calibration_path: Where corrected estimates are kept; default: in this process only.
        has_host: Whether a program like ComfyUI looks after models, goes on between requests, and lets go of what it
            does not need.
        pause: When the host's other threads keep their hands off weights: only then are idle models unloaded by time.
        clock: For what is unused for long.
        on_change: Called, by whichever thread it is, after a model was loaded or unloaded, when a phase is ready, and
            when a request that keeps a journal ends.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        devices: DeviceService | None = None,
        memory: MemoryHost | None = None,
        pins: PinBackend | None = None,
        pinned_copies: Callable[[int], torch.Tensor] | None = None,
        calibration_path: Path | None = None,
        has_host: bool = False,
        pause: Pause = always,
        clock: Callable[[], float] = time.monotonic,
        on_change: Callable[[], object] = nothing,
    ) -> None:
        self.settings = settings or Settings.from_environment()
        self.devices = devices or DeviceService()
        self.memory: MemoryHost = memory or MemoryManager(self.devices, self.settings)
        self.calibration = Calibration(calibration_path)
        if not has_host:  # a host's None is its user's wish
            pins = pins or (CudaPins() if can_pin_in_place() else None)
            pinned_copies = pinned_copies or (pinned_memory if torch.cuda.is_available() else None)
        budget = policy_for(self.settings, self.memory.vram_mode(), self.devices, CPU).max_pinned_bytes
        self.pinner = Pinner(budget, pins, pinned_copies)
        self._models: WeakValueDictionary[Hashable, Model] = WeakValueDictionary()
        self._clock = clock
        self._on_change = on_change
        self._journals: list[Journal] = []  # the last one, and before it one that has phases if that has none yet
        self._has_host = has_host
        self._limits = Limits.of(self.settings, has_host)
        # Without a host the process is a command: it ends soon, and unloads between its requests only (S195).
        self._timer = IdleTimer(self.tidy, pause) if has_host else None

    def change(self, settings: Settings) -> None:
        """Follow other settings, from the next request on; those that count at the start only stay as they are.

        Every model follows when it is used next, and is loaded again if it has to be placed otherwise. May be called
        by any thread. For a runtime under a host; a stand-alone memory manager goes on as it began.
        """
        kept = {name: getattr(self.settings, name) for name in _AT_START}
        self.settings = replace(settings, **kept)
        self._limits = Limits.of(self.settings, self._has_host)
        if self._timer is not None:
            self._timer.stop()  # it waits for the time that was set before
        self._arm()

    def context(self, seed: int = 0, run: str = "", **hooks: Any) -> RequestContext:
        """A new request.

        Args:
            seed: 0 to 2**64 - 1.
            run: What it has in common with the other requests of a run; "" is a run of its own.
            hooks: `RequestContext`'s on_progress, on_check, on_segment and timeout_s.
        """
        journal = self._journal(run)
        return RequestContext(
            self.memory, self.devices, self.settings, self.calibration, seed, journal=journal, **hooks
        )

    def _journal(self, run: str) -> Journal:
        last = self._journals[-1:]
        if last and run and last[0].run == run:
            return last[0]
        journal = Journal(run, self._on_change)
        self._journals = [*[earlier for earlier in self._journals if not earlier.is_empty][-1:], journal]
        return journal

    @property
    def last_run(self) -> Journal | None:
        """What the last run with a phase did; it may be under way."""
        return next((journal for journal in reversed(self._journals) if not journal.is_empty), None)

    def handle(
        self,
        name: str,
        module: nn.Module,
        device: torch.device,
        kind: Kind = "oneshot",
        marks: Mapping[nn.Module, str] | None = None,
    ) -> ModelHandle:
        """A handle for `module`, in evaluation mode, known to the memory host. Engines make theirs through this."""
        policy = policy_for(self.settings, self.memory.vram_mode(), self.devices, device)
        handle = ModelHandle(name, module.eval(), device, self.devices, kind, marks, policy, self.pinner)
        self.memory.register(handle)
        return handle

    def model(self, key: Hashable, name: str, load: Callable[[], HasHandles], attention: str = "auto") -> Model:
        """The model of `key` if somebody still holds it, else a new one; it is only referenced weakly here.

        Args:
            key: Of all that makes it another model, its attention too.
            name: Shown to users.
            load: Called outside inference mode, whenever the weights are needed and not there.
            attention: A key of `attention.CHOICES`; "auto" is every model's own, exact computation.
        """
        model = self._models.get(key)
        if model is None:
            policy = AttentionPolicy(attention, self.settings.attention_strict)
            kept = self.settings.segment_cache_mb * MB
            model = self._models[key] = Model(name, load, self._make_way, self._loaded, policy, self._clock, kept)
        return model

    def models(self) -> list[Model]:
        """Every model that somebody holds."""
        return [model for found in self._models.valuerefs() if (model := found()) is not None]

    def release(self, name: str | None = None) -> int:
        """Drop the weights of all idle models, or of those called `name`; returns the bytes freed."""
        return sum(self._unload(model) for model in self.models() if name in (None, model.name))

    def tidy(self, keep: Model | None = None) -> int:
        """Unload models that are too many or unused for too long, and others when host memory is short.

        Called when a request begins and ends and before a model loads; cheap when there is nothing to do.

        Args:
            keep: The model that is about to be used.

        Returns:
            The bytes freed.
        """
        return self._tidy(keep, incoming=0)

    def _make_way(self, model: Model) -> None:
        self._tidy(model, incoming=1)
        model.settings = self.settings

    def _follow(self, model: Model) -> int:
        """Bring a model that is about to be used up to the settings in force; returns the bytes freed."""
        before, now, freed = model.settings, self.settings, 0
        if before is None or before is now:
            return 0
        if model.is_loaded and any(getattr(before, name) != getattr(now, name) for name in _PLACEMENT):
            freed = self._unload(model)
            if model.is_loaded:  # busy: at its next request
                return 0
        model.settings = now
        model.cache.resize(now.segment_cache_mb * MB)
        model.attention.is_strict = now.attention_strict
        self._mark(model)
        return freed

    def _loaded(self, model: Model) -> None:
        self._mark(model)
        self._on_change()

    def _mark(self, model: Model) -> None:
        for handle in model.handles:
            handle.is_kept = model.name in self._limits.pinned

    def _tidy(self, keep: Model | None, incoming: int) -> int:
        freed = 0 if keep is None else self._follow(keep)
        others = [model for model in self.models() if model.is_loaded and model is not keep]
        incoming += int(keep is not None and keep.is_loaded)
        freed += sum(self._unload(model) for model in surplus(others, self._limits, self._clock(), incoming))
        if others and self._is_ram_short():  # asking the system costs more than the rest
            idle = [model for model in others if model.is_loaded and not model.is_busy]
            copies = self.settings.host_copies != "on"
            freed += relieve(idle, self._limits, self._is_ram_short, self._unload, copies)
        self._arm()
        return freed

    def _unload(self, model: Model) -> int:
        with model.idle() as is_idle:
            if not is_idle:
                return 0
            freed = sum(self.memory.release(handle) for handle in model.handles) + model.drop()
        if freed:
            self._on_change()
        return freed

    def _is_ram_short(self) -> bool:
        free, total = self.devices.host_memory()
        reserve = self.settings.ram_reserve_mb * MB
        if reserve < 0:
            reserve = self.memory.kept_ram_bytes(default_ram_reserve(total))
        return 0 < free < reserve  # 0: the system does not tell

    def _arm(self) -> None:
        if self._timer is None:
            return
        if not self._limits.idle_s:
            self._timer.stop()
            return
        last = [model.last_used for model in self.models() if model.is_loaded and model.name not in self._limits.pinned]
        if last:
            self._timer.arm(min(last) + self._limits.idle_s - self._clock())
        else:
            self._timer.stop()

    def describe(self) -> dict[str, Any]:
        """What is loaded, as JSON-ready data (S169)."""
        now = self._clock()
        models = [describe_model(model, now) for model in self.models()]
        return {
            "models": models,
            "devices": describe_devices(self.devices, models),
            "vram_mode": VramPolicy.of(self.settings, self.memory.vram_mode()).mode,
        }

    def snapshot(self) -> dict[str, Any]:
        """The same, and what the last run did when."""
        run = self.last_run
        return {**self.describe(), "last_run": run.as_data() if run else None}
