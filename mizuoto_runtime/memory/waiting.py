"""One lock for everything that moves weights on purpose, and the wait for another request's memory (S112)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

log = logging.getLogger("mizuoto.memory")

T = TypeVar("T")
MAX_WAIT_S = 600.0
CHECK_S = 0.1  # the longest that a cancelled request goes on waiting


class Turns:
    """Lets requests of several threads enter their phases one after the other.

    Args:
        max_wait_s: After so long a request tries with what there is.
        clock: Seconds that only grow.
    """

    # No deadlock: a thread that has a phase under way is never made to wait, so a waiting one holds no memory, and
    # the lock is released while it waits. Whoever is waited for therefore goes on, and what no phase's end ends, the
    # time limit does. Callbacks (`check`) run without the lock.

    def __init__(self, max_wait_s: float = MAX_WAIT_S, clock: Callable[[], float] = time.monotonic) -> None:
        self.lock = threading.RLock()
        self._changed = threading.Condition(self.lock)
        self._waiting = 0
        self._max_wait_s = max_wait_s
        self._clock = clock
        self._phases: dict[int, int] = {}  # how many are under way, by thread

    def enter(
        self, is_blocked: Callable[[], bool], check: Callable[[], None], begin: Callable[[], T]
    ) -> tuple[T, Callable[[], None]]:
        """Begin a phase as soon as it is not blocked.

        Args:
            is_blocked: Whether the phase lacks memory that another thread's phase holds.
            check: Called at least every 0.1 s while waiting; raises to give up.
            begin: Takes the memory; called with the lock held.

        Returns:
            What `begin` returned, and what must be called when the phase has ended.
        """
        thread, deadline = threading.get_ident(), None
        while True:
            with self.lock:
                if not self._phases or thread in self._phases or not is_blocked() or self._is_over(deadline):
                    result = begin()
                    self._phases[thread] = self._phases.get(thread, 0) + 1
                    return result, partial(self._left, thread)
                if deadline is None:
                    deadline = self._clock() + self._max_wait_s
                    log.info("Waiting for the device memory of another request.")
                self._wait()
            check()

    def freed(self) -> None:
        """Somebody gave memory back: those who wait look again."""
        if self._waiting:
            with self.lock:
                self._changed.notify_all()

    def _wait(self) -> None:
        self._waiting += 1
        try:
            self._changed.wait(CHECK_S)
        finally:
            self._waiting -= 1

    def _is_over(self, deadline: float | None) -> bool:
        return deadline is not None and self._clock() >= deadline

    def _left(self, thread: int) -> None:
        with self.lock:
            left = self._phases[thread] - 1
            if left:
                self._phases[thread] = left
            else:
                del self._phases[thread]
            self.freed()
