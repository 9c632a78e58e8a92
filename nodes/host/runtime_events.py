"""Tells every connected page what is loaded and what the last run does, whenever that changes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from .answers import prompt_server

log = logging.getLogger("mizuoto.memory")

EVENT = "mizuoto.runtime"
INTERVAL_S = 0.25  # between two events
TICK_S = 1.0  # between two looks at a phase that goes on


class Announcer:
    """Sends snapshots as websocket events, the first at once and the last never lost.

    Snapshots are taken where the change happens: a model that another thread happened to hold for one could be freed
    by that thread, and ComfyUI frees models in its worker only. What comes too soon after the last event waits in the
    server's loop, as data. Without a client nothing is done, and what goes wrong is logged once and no more.

    Args:
        snapshot: Makes the JSON-ready data.
        clock: Seconds that only grow.
    """

    def __init__(self, snapshot: Callable[[], dict[str, Any]], clock: Callable[[], float] = time.monotonic) -> None:
        self._snapshot = snapshot
        self._clock = clock
        self._lock = threading.RLock()
        self._latest: dict[str, Any] | None = None
        self._is_waiting = False  # for `_send`, in the server's loop
        self._sent_at = float("-inf")
        self._looked_at = float("-inf")
        self._has_failed = False

    def changed(self) -> None:
        """Something else is loaded, or a run went on; called by any thread."""
        self._looked_at = self._clock()
        try:
            server = prompt_server()
            if server is not None and server.sockets:
                self._announce(server)
        except Exception:  # a run does not fail because its picture does
            self._is_waiting = False
            if not self._has_failed:
                self._has_failed = True
                log.warning("The memory panel cannot be told what changed.", exc_info=True)

    def tick(self) -> None:
        """Called at every step of a phase: looks once a second, for what streams meanwhile."""
        if self._clock() - self._looked_at >= TICK_S:
            self.changed()

    def _announce(self, server: Any) -> None:
        with self._lock:  # an older snapshot never replaces a newer one
            self._latest = self._snapshot()
            is_waiting, self._is_waiting = self._is_waiting, True
        if not is_waiting:
            delay = max(0.0, self._sent_at + INTERVAL_S - self._clock())
            server.loop.call_soon_threadsafe(server.loop.call_later, delay, self._send, server)

    def _send(self, server: Any) -> None:
        self._is_waiting = False  # first: what changes from here on is announced anew
        self._sent_at = self._clock()
        server.send_sync(EVENT, self._latest)
