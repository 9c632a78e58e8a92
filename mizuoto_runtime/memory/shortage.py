"""The one warning about models that probably do not fit: estimates never refuse (S111), but they are heard."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from weakref import WeakSet

from .handle import ModelHandle

log = logging.getLogger("mizuoto.memory")


class Shortages:
    """Of one memory host; warns about every handle once, since every sentence of a long text is placed anew."""

    def __init__(self) -> None:
        self._warned: WeakSet[ModelHandle] = WeakSet()

    def note(self, handles: Sequence[ModelHandle], working_bytes: int, free_bytes: int, reserve_bytes: int) -> None:
        """Warn if the least that `handles` can run with does not fit.

        Args:
            handles: All on one device.
            working_bytes: What their phase takes beside them.
            free_bytes: Free on the device now, apart from what they hold there.
            reserve_bytes: Of these, what is to stay free.
        """
        least = sum(handle.minimum_bytes for handle in handles)
        held = sum(handle.loaded_bytes for handle in handles)
        if free_bytes + held - working_bytes - reserve_bytes >= least or self._warned.issuperset(handles):
            return
        self._warned.update(handles)
        log.warning(
            "%s: %.0f MB of weights and %.0f MB of working memory may not fit on %s (%.0f MB free); trying.",
            ", ".join(handle.name for handle in handles),
            least / 1e6,
            working_bytes / 1e6,
            handles[0].load_device,
            free_bytes / 1e6,
        )
