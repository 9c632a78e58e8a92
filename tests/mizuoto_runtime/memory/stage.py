"""A module whose units all stream, with a log of what happens when."""

import torch
from torch import nn

from ....mizuoto_runtime.memory.pack import Pack
from ....mizuoto_runtime.memory.ring import Ring, SyncQueue
from ....mizuoto_runtime.memory.streamer import Gate, Streamer
from ....mizuoto_runtime.memory.units import layout_of
from . import zoo

ROOMY = 64 << 20


def is_nowhere(tensor):
    """Whether it stands for a weight that is not on the device: NaN everywhere, in memory for one value."""
    return bool(tensor.isnan().all()) and tensor.untyped_storage().nbytes() == tensor.element_size()


class LoggingQueue(SyncQueue):
    """Copies on the spot and logs; `overlaps` makes the streamer take it for an asynchronous one."""

    def __init__(self, overlaps):
        self.overlaps = overlaps
        self.log = []
        self.fails = False

    def issue(self, slot, source):
        assert not slot.is_used
        if self.fails:
            slot.buffer[: source.shape[0] // 2].fill_(77)
            raise RuntimeError("copy failed")
        super().issue(slot, source)
        self.log.append(("copy", source.data_ptr()))

    def wait(self, slot):
        self.log.append(("wait", slot.pack.host.data_ptr()))

    def release(self, slot):
        self.log.append(("release", slot.pack.host.data_ptr()))


class Clock:
    """The time of a device that computes and copies side by side."""

    def __init__(self):
        self.now = 0.0


class VirtualQueue(SyncQueue):
    """Copies on the spot, but on a clock a copy lasts `copy_s`, beside the computation; marks are times of it."""

    overlaps = True

    def __init__(self, clock, copy_s):
        self._clock, self._copy_s, self._copied = clock, copy_s, 0.0

    def issue(self, slot, source):
        slot.buffer[: source.shape[0]].copy_(source)
        self._copied = slot.ready = max(self._copied, self._clock.now) + self._copy_s
        if self.copies is not None:
            self.copies.append((self._copied - self._copy_s, self._copied, source.nbytes))

    def wait(self, slot):
        self._clock.now = max(self._clock.now, slot.ready)

    def mark(self):
        return self._clock.now


class Paced(nn.Module):
    """A layer that computes for `compute_s` on a clock."""

    def __init__(self, clock, compute_s):
        super().__init__()
        self.inner, self.clock, self.compute_s = zoo.linear(), clock, compute_s

    def forward(self, hidden):
        self.clock.now += self.compute_s
        return self.inner(hidden)


class Stage:
    """A module whose units all stream through so many slots; the rest of it stays where it is."""

    def __init__(self, module, num_slots=1, overlaps=False, strict=True, **options):
        self.module = module if isinstance(module, nn.Module) else zoo.chain(module)
        self.hidden = zoo.example()
        self.expected = self.module(self.hidden)
        self.devices, self.device = zoo.simulated(ROOMY, strict)
        self.gate, self.queue = Gate(), LoggingQueue(overlaps)
        self.packs = [Pack(unit, strict) for unit in layout_of(self.module).units]
        size = max(pack.num_bytes for pack in self.packs)
        self.ring = Ring(num_slots, size, self.device, self.devices)
        self.streamer = Streamer(self.packs, self.ring, self.queue, self.gate, **options)
        self.names = {pack.host.data_ptr(): pack.unit.name[-1] for pack in self.packs}

    def run(self):
        with torch.inference_mode():
            return self.module(self.hidden)

    def is_right(self):
        return torch.equal(self.run(), self.expected)

    def taken(self, *kinds):
        """The log since the last call: "c1" copy of unit 1, "w1" wait, "r1" release."""
        log, self.queue.log = self.queue.log, []
        return " ".join(kind[0] + self.names[unit] for kind, unit in log if kind in (kinds or (kind,)))

    def is_at_rest(self):
        return not any(pack.depth for pack in self.packs) and not any(slot.is_used for slot in self.ring.slots)
