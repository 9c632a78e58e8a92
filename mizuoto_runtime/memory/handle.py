"""One module whose weights can be on its load device wholly, partly or not at all."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import torch
from torch import nn

from ..device import CPU, DeviceService
from .fixed import FixedPart
from .meter import Meter
from .pack import Pack
from .partial import Partial
from .pinning import Pinner
from .plan import Kind, Placement, Seconds, minimum_bytes, pass_s, plan_units
from .policy import DEFAULT_POLICY, WHOLE_MODES, VramPolicy, unit_budget
from .ring import Ring, queue_for
from .streamer import Gate, Streamer, never
from .units import Layout, layout_of

log = logging.getLogger("mizuoto.memory")

ALL = math.inf
# A partly placed handle is not rearranged for less: budgets differ a little at every phase.
WORTH_MOVING = 0.05


class ModelHandle:
    """Weights with a place; engines read only `module` and `compute_device` (S020-S022).

    Placed whole there is nothing between the module and its weights. Placed partly, the fixed part and some units
    are resident and the others stream through a ring of slots that belongs to the handle.

    Args:
        name: Shown to users, `engine/model:component`.
        module: Built on the CPU outside inference mode; nobody else may move it.
        load_device: Where it runs.
        devices: Does the copying.
        kind: "sequence" for autoregressive models, else "oneshot"; decides what is placed first.
        marks: Submodule -> "hot" (placed before all others) or "fixed" (never apart from the fixed part), children
            included (S117).
        policy: Its mode limits what is placed; whether whole handles keep their CPU copies, so that leaving needs no
            transfer.
        pinner: Pins host copies for fast transfers where that is possible.

    `is_kept` makes it one of the last to give way. `attachment` belongs to the memory host, which keeps there whatever
    must live exactly as long as the handle.
    """

    def __init__(
        self,
        name: str,
        module: nn.Module,
        load_device: torch.device,
        devices: DeviceService,
        kind: Kind = "oneshot",
        marks: Mapping[nn.Module, str] | None = None,
        policy: VramPolicy = DEFAULT_POLICY,
        pinner: Pinner | None = None,
    ) -> None:
        self.name = name
        self.module = module
        self.kind: Kind = kind
        self.load_device = load_device
        self.offload_device = CPU
        self.compute_device = devices.compute_device(load_device)
        self.is_managed = devices.is_managed(load_device)
        self.last_used = 0.0
        self.is_kept = False
        self.attachment: object | None = None
        self.gate = Gate()
        self._devices = devices
        self.partial: Partial | None = None
        self.gave_up_for = ""
        self._policy = policy
        self._pinner = pinner
        self._layout = layout_of(module, marks)
        self._fixed = FixedPart(self._layout.fixed, load_device, devices, policy.keeps_host_copies)
        is_strict = devices.is_strict(load_device)
        self._packs = [Pack(unit, is_strict) for unit in self._layout.units] if self.is_managed else []
        self._meter = Meter(sum(pack.num_bytes for pack in self._packs))
        self._resident: list[Pack] = []  # in placement order
        self._streamer: Streamer | None = None
        self._streamed_before = 0  # by streamers that are closed
        self._cap = ALL
        self._moving = threading.RLock()  # the release route's thread and ComfyUI's worker may meet here
        self._is_complete = True  # last: tells __del__

    def __del__(self) -> None:
        if not getattr(self, "_is_complete", False) or not self.is_managed:
            return
        # A simulated device cannot see tensors die, and hooks would keep a streaming module in a cycle.
        if self._streamer:
            self._devices.synchronize(self.load_device)  # a copy may still be on its way into a slot
        self._stop_streaming()
        self._devices.forget(self.loaded_bytes, self.load_device)

    @property
    def layout(self) -> Layout:
        """Fixed part and units."""
        return self._layout

    @property
    def dtype_name(self) -> str:
        """What its floating-point weights are stored in, such as "float32"."""
        dtypes = (parameter.dtype for parameter in self.module.parameters() if parameter.is_floating_point())
        return str(next(dtypes, "")).removeprefix("torch.")

    @property
    def size_bytes(self) -> int:
        """Bytes on the device when placed whole."""
        if not self.is_managed:
            return self._layout.size_bytes
        return self._fixed.num_bytes + sum(pack.num_bytes for pack in self._packs)

    @property
    def slot_bytes(self) -> int:
        """Of `minimum_bytes`, those of the one slot that units stream through; 0 where the module is never split."""
        if not self._packs or self._policy.mode in WHOLE_MODES:
            return 0
        return self.minimum_bytes - self._fixed.num_bytes

    @property
    def minimum_bytes(self) -> int:
        """The least that must be on the device for the module to run: the fixed part and one slot (S119)."""
        if not self._packs or self._policy.mode in WHOLE_MODES:
            return self.size_bytes
        return min(self.size_bytes, minimum_bytes(self._fixed.num_bytes, [pack.num_bytes for pack in self._packs]))

    @property
    def loaded_bytes(self) -> int:
        """Bytes on the load device now, `0 <= loaded_bytes <= size_bytes`; all of them where nothing has to move."""
        if not self.is_managed:
            return self.size_bytes
        streamer = self._streamer  # once, here and below: another thread may be taking it away
        ring_bytes = streamer.ring.num_bytes if streamer else 0
        resident_bytes = sum(pack.num_bytes for pack in self._resident)
        return self._fixed.num_bytes * self._fixed.is_placed + resident_bytes + ring_bytes

    @property
    def host_bytes(self) -> int:
        """Bytes of weights held in host memory."""
        if not self.is_managed:
            return self.size_bytes
        return self._fixed.host_bytes + sum(pack.num_bytes for pack in self._packs if pack.host is not None)

    @property
    def pinned_bytes(self) -> int:
        """Bytes of the weights in host memory that are pinned."""
        if self._pinner is None:
            return 0
        return sum(pack.num_bytes for pack in self._packs if pack.is_pinned(self._pinner))

    @property
    def streamed_bytes(self) -> int:
        """Bytes copied through the ring so far, over the handle's whole life."""
        streamer = self._streamer
        return self._streamed_before + (streamer.streamed_bytes if streamer else 0)

    @property
    def is_whole(self) -> bool:
        """Whether every weight is on the device."""
        return not self.is_managed or (self._fixed.is_placed and len(self._resident) == len(self._packs))

    @property
    def is_ready(self) -> bool:
        """Whether the module can run: what is not on the device streams."""
        streamer = self._streamer
        streaming = len(streamer.packs) if streamer else 0
        return self.is_whole or (self._fixed.is_placed and len(self._resident) + streaming == len(self._packs))

    @property
    def is_busy(self) -> bool:
        """Whether a phase uses it right now."""
        return self.gate.num_users > 0

    @property
    def num_hooks(self) -> int:
        """Hooks on its modules: none unless it streams (S122)."""
        streamer = self._streamer
        return streamer.num_hooks if streamer else 0

    def hold(self, check: Callable[[], None] = never) -> Callable[[], None]:
        """Make it busy until the function that is returned is called; `check` is called before every streamed copy.

        Holders may come and go in any order, also of several threads: all their checks are called. `last_used` is set
        when one goes.
        """
        self.gate.enter(check)
        return partial(self._let_go, check)

    @contextmanager
    def held(self, check: Callable[[], None] = never) -> Iterator[None]:
        """As `hold`, for the time of a block."""
        let_go = self.hold(check)
        try:
            yield
        finally:
            let_go()

    def _let_go(self, check: Callable[[], None]) -> None:
        streamer = self._streamer
        if not self.gate.leave(check) and streamer:
            streamer.rest()
        self.last_used = time.monotonic()

    def place(self, budget: float = ALL) -> int:
        """Make the module ready with at most `budget` further bytes: whole if it fits, else with streaming.

        Which units stay and how many slots there are follows from the seconds measured while it streamed before. What
        runs already is rearranged only for a gain worth it, and never while a phase uses it.

        Returns the bytes added (negative when a new plan needs fewer); 0 when the budget is below the minimum. An
        error in the middle (out of memory) leaves the weights that already arrived in place and accounted for.
        """
        if self.is_whole or (self.is_busy and self.is_ready):
            return 0
        with self._moving:
            before = self.loaded_bytes
            plan = self._plan(min(before + budget, self._cap))
            if plan is None or (self.is_ready and not self._is_worth(plan)):
                return 0
            self._devices.synchronize(self.load_device)
            with torch.inference_mode(False):
                self._apply(plan)
            return self.loaded_bytes - before

    def release(self, num_bytes: float = ALL) -> int:
        """Free at least `num_bytes` on the device: units in reverse placement order, then the ring, then the rest.

        Returns the bytes freed, less than asked only when nothing is left. Idempotent; waits for the device first.
        """
        if not self.is_managed or not self.loaded_bytes:
            return 0
        with self._moving, torch.inference_mode(False):
            before = self.loaded_bytes
            self._devices.synchronize(self.load_device)
            while before - self.loaded_bytes < num_bytes and self._resident:
                self._send_back(self._resident.pop())
            if before - self.loaded_bytes < num_bytes:
                self._stop_streaming()
            if before - self.loaded_bytes < num_bytes and self._fixed.is_placed:
                self._fixed.send_back()
            if not self.loaded_bytes:
                self._cap = ALL
            return before - self.loaded_bytes

    def drop_host_copies(self) -> int:
        """Free the CPU copies of weights that are all on the device (S147); returns their bytes.

        0 where there are none, and for a handle that streams, is busy or plays on a simulated device, whose copies
        are needed.
        """
        if not self.is_managed or self._devices.is_strict(self.load_device):
            return 0
        with self._moving:
            if not self.is_whole or self.is_busy:
                return 0
            before = self.host_bytes
            for pack in self._packs:
                pack.drop_host()
            self._fixed.drop_host_copies()
            return before - self.host_bytes

    def explain(self, free_bytes: int, working_bytes: int, reserve_bytes: int) -> None:
        """Set `partial` to why the handle is not whole, with the numbers that its host weighed; None if it is."""
        if self.is_whole:
            self.partial, self.gave_up_for = None, ""
            return
        if self._cap < ALL:
            reason = "capped after running out of memory"
        elif self._policy.mode in ("low", "none"):
            reason = f"mode {self._policy.mode}"
        else:
            reason = "gave way to another" if self.gave_up_for else "budget"
        before = self.partial
        self.partial = Partial(reason, self._policy.mode, free_bytes, working_bytes, reserve_bytes, self.gave_up_for)
        if before is None or before.reason != reason:
            log.info(
                "%s: %.1f of %.1f MB on %s, the rest streams (%s; %.0f MB free, %.0f MB of working memory).",
                self.name,
                self.loaded_bytes / 1e6,
                self.size_bytes / 1e6,
                self.load_device,
                reason,
                free_bytes / 1e6,
                working_bytes / 1e6,
            )

    def cap_after_oom(self) -> None:
        """Allow it half of what it has on the device now, until it has left the device (S155)."""
        if self.is_managed and self.loaded_bytes:
            self._cap = max(self.loaded_bytes // 2, self.minimum_bytes)
            self.release(max(0, self.loaded_bytes - self._cap))

    def _plan(self, total: float) -> Placement | None:
        """The placement within `total` bytes on the device, or None when the module cannot run in them."""
        sizes = [pack.num_bytes for pack in self._packs]
        hot = [pack.unit.is_hot for pack in self._packs]
        if total < self.minimum_bytes:
            return None
        overlaps = self._policy.num_transfers > 0 and self._devices.copies_overlap(self.load_device)
        room = unit_budget(self._policy, total, self._fixed.num_bytes, self.size_bytes)
        return plan_units(sizes, hot, self.kind, room, can_overlap=overlaps, seconds=self._meter.seconds())

    def _is_worth(self, plan: Placement) -> bool:
        if not plan.num_slots:
            return True
        seconds = self._meter.seconds()
        if seconds and plan.is_early and self._streamer:
            return self._pass_s(plan, seconds) <= (1 - WORTH_MOVING) * self._pass_s(self._placement(), seconds)
        planned = sum(self._packs[index].num_bytes for index in plan.resident)
        gained = planned - sum(pack.num_bytes for pack in self._resident)
        return gained >= WORTH_MOVING * self.size_bytes

    def _pass_s(self, plan: Placement, seconds: Seconds) -> float:
        return pass_s([pack.num_bytes for pack in self._packs], plan, seconds)

    def _placement(self) -> Placement:
        """The one in force while it streams."""
        assert self._streamer is not None
        resident = tuple(self._packs.index(pack) for pack in self._resident)
        ring = self._streamer.ring
        return Placement(resident, len(ring.slots), ring.slot_bytes, self._streamer.is_early)

    def _apply(self, plan: Placement) -> None:
        if not self._fixed.is_placed:
            self._fixed.bring()
        self._stop_streaming()
        wanted = [self._packs[index] for index in plan.resident]
        for pack in [pack for pack in self._resident if pack not in wanted]:
            self._resident.remove(pack)
            self._send_back(pack)
        for pack in wanted:
            if pack not in self._resident:
                self._bring(pack)
                self._resident.append(pack)
        if not plan.num_slots:
            if not self._policy.keeps_host_copies:
                for pack in self._packs:
                    pack.drop_host()  # only whole handles go without: streaming needs them (S142)
        else:
            streamed = [pack for pack in self._packs if pack not in self._resident]
            if self._pinner:
                for pack in streamed:
                    pack.pin_for_streaming(self._pinner, self.load_device)
            ring = Ring(plan.num_slots, plan.slot_bytes, self.load_device, self._devices)
            queue = queue_for(self._devices, self.load_device)
            self._streamer = Streamer(streamed, ring, queue, self.gate, plan.is_early, meter=self._meter)

    def _bring(self, pack: Pack) -> None:
        assert pack.host is not None
        if self._pinner and self._policy.keeps_host_copies:
            pack.pin(self._pinner, self.load_device)
        pack.move_to(self._devices.copy_in(pack.host, self.load_device))

    def _send_back(self, pack: Pack) -> None:
        pack.move_home()
        self._devices.forget(pack.num_bytes, self.load_device)

    def _stop_streaming(self) -> None:
        if self._streamer is not None:
            self._streamed_before += self._streamer.streamed_bytes
            self._streamer.close()
            self._streamer = None
