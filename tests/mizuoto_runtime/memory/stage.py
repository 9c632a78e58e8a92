"""A module whose units all stream, with a log of what happens when."""

import torch
from torch import nn

from ....mizuoto_runtime.memory.pack import Pack
from ....mizuoto_runtime.memory.ring import Ring, SyncQueue
from ....mizuoto_runtime.memory.streamer import Gate, Streamer
from ....mizuoto_runtime.memory.units import layout_of
from . import zoo

ROOMY = 64 << 20


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
