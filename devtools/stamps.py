"""Remembers what was built from which request: a build is reused, redone after a change, and never half trusted."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from .console import Stop, say


class Stamp:
    """A small file that says: what stands beside it was built completely from exactly this request.

    Args:
        path: The stamp file.
        request: What was asked for; any JSON value.
    """

    def __init__(self, path: Path, request: object) -> None:
        self.path = path
        self.digest = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()

    def is_current(self) -> bool:
        """Whether a finished build of the same request is there."""
        try:
            return self.path.read_text(encoding="ascii").strip() == self.digest
        except (FileNotFoundError, NotADirectoryError):
            return False

    @contextlib.contextmanager
    def building(self) -> Iterator[None]:
        """The stamp is absent while the block runs and written only if the block ends well."""
        self.path.unlink(missing_ok=True)
        yield
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(self.digest + "\n", encoding="ascii")


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file against other processes; the system drops the lock when this process dies, however it dies."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = path.open("a+")
    except OSError as error:
        raise Stop(f"Cannot write into {path.parent} ({error.strerror}): use a checkout in a folder you own.") from None
    with handle:
        waited = False
        while not _try_lock(handle.fileno()):
            if not waited:
                say("Another dev.py is setting up this checkout; waiting for it ...")
            waited = True
            time.sleep(0.5)
        yield


def _try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
