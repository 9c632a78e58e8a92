"""What estimates of working memory missed in earlier phases, remembered on disk (S165-S167)."""

from __future__ import annotations

import json
import logging
import os
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

log = logging.getLogger("mizuoto.memory")

VERSION = 2
MARGIN = 1.1  # the next request is seldom the same to the byte
MAX_FACTOR = 16.0


def phase_bytes(peak_bytes: int, placed_bytes: int, streamed_bytes: int, stayed_bytes: int) -> int:
    """Working memory that a phase really took (S165); never negative.

    Args:
        peak_bytes: The most that was allocated on the device during the phase.
        placed_bytes: Allocated when the weights were in place and the phase began.
        streamed_bytes: The most that the streamer held beyond that.
        stayed_bytes: What the phase left behind on the device, such as its result.
    """
    return max(0, peak_bytes - placed_bytes - streamed_bytes - max(0, stayed_bytes))


class Calibration:
    """Factors by which estimates are multiplied, one a phase; 1.0 until a phase took more than estimated.

    Safe to use from several threads. A file that is damaged or of another version is ignored, and replaced when there
    is something new to remember.

    Args:
        path: Where the factors are kept; None keeps them in memory only.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._factors = _read(path) if path else {}

    def factor(self, key: str) -> float:
        """What to multiply the estimate of phase `key`, "engine:component", with: 1.0 to 16.0."""
        return self._factors.get(key, 1.0)

    def observe(self, key: str, estimated_bytes: int, peak_bytes: int) -> None:
        """Remember it if phase `key` took more than its estimate times its factor.

        Args:
            key: "engine:component".
            estimated_bytes: Before multiplication; without an estimate there is nothing to learn.
            peak_bytes: What the phase really took, see `phase_bytes`.
        """
        if estimated_bytes <= 0:
            return
        ratio = peak_bytes / estimated_bytes
        with self._lock:
            known = self.factor(key)
            if ratio <= known or known >= MAX_FACTOR:
                return
            self._factors[key] = round(min(MAX_FACTOR, ratio * MARGIN), 4)
            log.info(
                "%s took %.2f times its estimate; %.2f times is reserved from now on.", key, ratio, self.factor(key)
            )
            if self._path:
                self._write(self._path)

    def _write(self, path: Path) -> None:
        data = json.dumps({"version": VERSION, "factors": self._factors}, indent=1, sort_keys=True)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _replace(path, data)
        except OSError as error:  # a read-only place: the factors hold until the process ends
            log.warning("Memory calibration is not kept: %s", error)
            self._path = None


def _replace(path: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _read(path: Path) -> dict[str, float]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["version"] != VERSION:
            raise ValueError(f"format version {data['version']!r} instead of {VERSION}")
        return {str(key): _checked(factor) for key, factor in data["factors"].items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        log.warning("Memory calibration in %s is ignored: %s", path, str(error) or type(error).__name__)
        return {}


def _checked(factor: object) -> float:
    if isinstance(factor, int | float) and not isinstance(factor, bool) and 1 <= factor <= MAX_FACTOR:
        return float(factor)
    raise ValueError(f"a factor is not between 1 and {MAX_FACTOR:g}")
