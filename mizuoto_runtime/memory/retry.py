"""Rerunning a phase that ran out of device memory, exactly: same random numbers, same result (S154-S157)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..errors import is_oom

T = TypeVar("T")


def run_exact(attempt: Callable[[], T], make_room: Callable[[], None], max_retries: int) -> tuple[T | None, int, str]:
    """Run `attempt`, after each out-of-memory error `make_room` and run it again, at most `max_retries` times.

    The failed exception is dropped, with every frame and tensor it holds, before `make_room` is called. Other
    exceptions pass through. `make_room` restores the generators, too, so that every attempt starts alike.

    Returns:
        (result, retries used, ""), or (None, retries used, text of the last error) when no attempt succeeded.
    """
    for retries in range(max_retries + 1):
        try:
            return attempt(), retries, ""
        except Exception as error:
            if not is_oom(error):
                raise
            failure = str(error) or type(error).__name__
        # Only out here are the frames of the failed attempt gone (S154).
        make_room()
    return None, max_retries, failure
