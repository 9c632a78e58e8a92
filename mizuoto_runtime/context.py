"""One request: its seed and generators, its cancel switch, its phases on the device and its report (S047, M02)."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

import torch

from .device import DeviceService
from .errors import Cancelled, InvalidRequest, OperationTimeout
from .journal import Journal
from .memory.calibrate import Calibration
from .memory.handle import ModelHandle
from .memory.host import MemoryHost
from .memory.policy import WHOLE_MODES, policy_for
from .memory.retry import run_exact
from .phase import Phase
from .report import RunReport
from .settings import Settings
from .spoken import SpokenSegment

T = TypeVar("T")
MAX_SEED = 2**64 - 1
GB = 1 << 30


def _nothing(*_: object) -> None:
    """The default hook."""


class RequestContext:
    """Passed to every engine call.

    Args:
        memory: Who owns the devices.
        devices: How tensors get there.
        settings: `oom_retries` and `oom_fallback` are read from it.
        calibration: Corrects estimates of working memory by what earlier phases took.
        seed: 0 to 2**64 - 1; the only source of randomness.
        on_progress: Called with (fraction done 0..1, what is going on).
        on_check: Called at every `check_cancel`; may raise the host's own interruption.
        on_segment: Called with every finished segment of a recording, in order; None where nobody listens.
        timeout_s: From now; after it `check_cancel` raises.
        journal: Where its phases are written down; default: one of its own.

    Raises:
        InvalidRequest: The seed is out of range.
    """

    def __init__(
        self,
        memory: MemoryHost,
        devices: DeviceService,
        settings: Settings,
        calibration: Calibration,
        seed: int,
        on_progress: Callable[[float, str], None] = _nothing,
        on_check: Callable[[], None] = _nothing,
        on_segment: Callable[[SpokenSegment], None] | None = None,
        timeout_s: float | None = None,
        journal: Journal | None = None,
    ) -> None:
        self.memory = memory
        self.devices = devices
        self.settings = settings
        self.calibration = calibration
        self.report = RunReport(run_id=uuid.uuid4().hex, seed=seed)
        self.journal = journal or Journal()
        self.cancelled = threading.Event()
        self.progress = on_progress
        self.on_segment = on_segment
        self._on_check = on_check
        self._deadline = None if timeout_s is None else time.monotonic() + timeout_s
        self._seed(seed)

    def _seed(self, seed: int) -> None:
        if not 0 <= seed <= MAX_SEED:
            raise InvalidRequest(f"Seed {seed} is out of range; use 0 to {MAX_SEED}.")
        self.seed = seed
        self._rng: random.Random | None = None
        self._generators: dict[torch.device, torch.Generator] = {}

    @property
    def rng(self) -> random.Random:
        """The request's Python generator, made at first use."""
        if self._rng is None:
            self._rng = random.Random(self.seed)
        return self._rng

    def seeded(self, seed: int) -> RequestContext:
        """This request with fresh generators from another seed: same report, same cancel switch."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._seed(seed)
        return other

    def generator_for(self, device: torch.device) -> torch.Generator:
        """The request's generator on `device`, made at first use.

        It draws what torch's own would after `manual_seed(seed)` (S053).
        """
        device = self.devices.compute_device(device)
        if device not in self._generators:
            self._generators[device] = torch.Generator(device).manual_seed(self.seed)
        return self._generators[device]

    def check_cancel(self) -> None:
        """Call once a token, step or unit.

        Raises:
            Cancelled: `cancelled` is set; or whatever the host raises to interrupt.
            OperationTimeout: The deadline has passed.
        """
        self._on_check()
        if self.cancelled.is_set():
            raise Cancelled("The request was cancelled.")
        if self._deadline is not None and time.monotonic() >= self._deadline:
            raise OperationTimeout("The request took longer than its time limit; raise the limit or shorten the text.")

    def use(
        self, phase: str, handles: Sequence[ModelHandle], working_bytes: int = 0
    ) -> AbstractContextManager[None, None]:
        """A phase in which `handles` are ready on their devices and cannot be evicted (S101).

        For blocks that yield audio or consume generators; they are not retried, so `working_bytes` must be an upper
        bound. Inference mode is the caller's to set: around a `yield` it would reach whoever takes what is yielded.
        """
        return Phase(self, phase, handles, working_bytes)

    def run(
        self,
        phase: str,
        handles: Sequence[ModelHandle],
        fn: Callable[[], T],
        working_bytes: int = 0,
        generators: Sequence[torch.Generator] = (),
        fallback: tuple[str, Callable[[], T]] | None = None,
    ) -> T:
        """The result of `fn`, whose only effect is its return value, with exact retry when memory runs out (S102).

        Args:
            phase: Name in timings and messages.
            handles: What `fn` uses.
            fn: May draw from the request's generators.
            working_bytes: Estimate of activations and caches.
            generators: Further generators that `fn` draws from.
            fallback: (what it is, function) used after the retries if the setting `oom_fallback` is on.

        Raises:
            OutOfDeviceMemory: No attempt succeeded.
        """
        restore = self._restorer(generators)

        def attempt(function: Callable[[], T] = fn) -> T:
            with self.use(phase, handles, working_bytes), torch.inference_mode():
                return function()

        def make_room() -> None:
            for device in {handle.load_device for handle in handles}:
                self.memory.make_room(device, keep=handles)
            for handle in handles:
                handle.cap_after_oom()
            restore()

        result, retries, failure = run_exact(attempt, make_room, self.settings.oom_retries)
        if retries:
            self.report.applied["oom_retries"] = self.report.applied.get("oom_retries", 0) + retries
        if not failure:
            if retries:
                self.report.warn("oom_retry", f"{phase}: device memory ran out; rerun with the same result.")
            return result  # type: ignore[return-value]
        if fallback is not None and self.settings.oom_fallback:
            what, function = fallback
            result, _, failure = run_exact(lambda: attempt(function), make_room, 0)
            if not failure:
                self.report.applied.setdefault("fallbacks", []).append(what)
                self.report.warn("fallback", f"{phase}: used {what} because device memory ran out.")
                return result  # type: ignore[return-value]
        raise self._out_of_memory(phase, handles, working_bytes, failure)

    def _restorer(self, generators: Sequence[torch.Generator]) -> Callable[[], None]:
        """A function that puts every generator of the request back to where it is now (S156)."""
        known = dict(self._generators)
        states = [(generator, generator.get_state()) for generator in (*known.values(), *generators)]
        rng = self._rng
        rng_state = rng.getstate() if rng else None

        def restore() -> None:
            for generator, state in states:
                generator.set_state(state)
            self._generators = dict(known)  # one made by the failed attempt starts afresh, and so does the rng
            self._rng = rng
            if rng and rng_state:
                rng.setstate(rng_state)

        return restore

    def _out_of_memory(self, phase: str, handles: Sequence[ModelHandle], working_bytes: int, failure: str) -> Exception:
        device = next((handle.load_device for handle in handles), torch.device("cpu"))
        there = [handle for handle in handles if handle.load_device == device]
        free, total = self.devices.memory(device)
        others = max(0, total - free - self.devices.held_bytes(device))
        free += sum(handle.loaded_bytes for handle in there if handle.is_managed)
        least = sum(handle.minimum_bytes for handle in there)
        held = f" Other programs hold {others / GB:.2f} of {total / GB:.2f} GB."
        is_own = self.devices.is_managed(device) and not self.devices.shares_memory(device)
        message = (
            f'"{", ".join(handle.name for handle in handles)}" needs at least {(least + working_bytes) / GB:.2f} GB '
            f"on {device} ({_weights_of(there)} + {working_bytes / GB:.2f} working memory) and {free / GB:.2f} GB is "
            f"free.{held if is_own else ''} Close other programs that use this device, shorten the text, or set the "
            f"loader's device to cpu.{self._mode_advice(device)}"
        )
        detail = {
            "reason": "out_of_memory",
            "phase": phase,
            "device": str(device),
            "needed_bytes": least + working_bytes,
            "free_bytes": free,
            "error": failure,
        }
        return self.memory.out_of_memory(message, detail)

    def _mode_advice(self, device: torch.device) -> str:
        mode = policy_for(self.settings, self.memory.vram_mode(), self.devices, device).mode
        if mode not in WHOLE_MODES:
            return ""
        return f' Mode "{mode}" places models whole; in mode "auto" (MIZUOTO_VRAM_MODE) they stream what does not fit.'


def _weights_of(handles: Sequence[ModelHandle]) -> str:
    """The least weights that must be on the device, in GB: what always is, and the layer that streams."""
    slots = sum(handle.slot_bytes for handle in handles)
    fixed = sum(handle.minimum_bytes for handle in handles) - slots
    if not slots:
        return f"{fixed / GB:.2f} weights"
    each = "" if len(handles) == 1 else " each"
    return f"{fixed / GB:.2f} fixed + {slots / GB:.2f} for one streamed layer{each}"
