"""A cache that forgets what was not asked for longest, by the bytes that its entries hold."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class ByteCache(Generic[T]):
    """Values with their sizes, up to a number of bytes in all.

    Args:
        max_bytes: 0 keeps nothing.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self.num_bytes = 0

    def get(self, key: Hashable) -> T | None:
        """The value of `key`, which is then the last to be forgotten; None if it is not there."""
        if key not in self._entries:
            return None
        self._entries.move_to_end(key)
        return self._entries[key][0]

    def put(self, key: Hashable, value: T, num_bytes: int) -> None:
        """Keep `value` unless it alone is too large, and forget old ones until all fit."""
        self._forget(key)
        if num_bytes > self._max_bytes:
            return
        self._entries[key] = value, num_bytes
        self.num_bytes += num_bytes
        self.resize(self._max_bytes)

    def resize(self, max_bytes: int) -> None:
        """Keep up to so many bytes from now on; what is too much is forgotten."""
        self._max_bytes = max_bytes
        while self.num_bytes > self._max_bytes:
            self._forget(next(iter(self._entries)))

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self.num_bytes = 0

    def _forget(self, key: Hashable) -> None:
        _, num_bytes = self._entries.pop(key, (None, 0))
        self.num_bytes -= num_bytes
