"""Which loaded models stay in host memory: at most so many, so long, and while it is not short (S147, S153)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar
from weakref import WeakMethod

from .settings import Settings

MAX_MODELS, IDLE_MINUTES = 3, 30  # where the user leaves it to us and no host looks after models
RETRY_S = 30.0
Pause = Callable[[], AbstractContextManager[bool]]
"""Makes a context manager that gives whether nobody else moves weights now, which stays so inside the block."""


def always() -> AbstractContextManager[bool]:
    """The `Pause` of a process whose requests all go through our own locks."""
    return nullcontext(True)


@dataclass(frozen=True, slots=True)
class Limits:
    """What keeps models from piling up.

    Attributes:
        max_models: How many may be loaded; 0 is no limit. Busy and pinned ones may exceed it.
        idle_s: Seconds without a request after which a model is unloaded; 0 is never.
        pinned: Names of models that are never unloaded.
    """

    max_models: int
    idle_s: float
    pinned: frozenset[str]

    @classmethod
    def of(cls, settings: Settings, has_host: bool) -> Limits:
        """The limits of `settings`; what they leave open is unlimited where a host (ComfyUI) owns the models."""
        max_models, minutes = settings.max_resident_models, settings.unload_after_minutes
        if max_models < 0:
            max_models = 0 if has_host else MAX_MODELS
        if minutes < 0:
            minutes = 0 if has_host else IDLE_MINUTES
        names = (name.strip() for name in settings.pinned_models.split(","))
        return cls(max_models, minutes * 60.0, frozenset(filter(None, names)))


class HasCopies(Protocol):
    """A handle, as far as host memory is concerned."""

    def drop_host_copies(self) -> int:
        """Free the CPU tensors of weights that are wholly on the device; returns their bytes, 0 if there are none."""
        ...


class Resident(Protocol):
    """A loaded model, as far as its staying is concerned."""

    name: str

    @property
    def last_used(self) -> float:
        """Seconds on the clock that `Runtime` uses."""
        ...

    @property
    def is_busy(self) -> bool:
        """Whether a request is at work on it."""
        ...

    @property
    def handles(self) -> Sequence[HasCopies]:
        """Its components."""
        ...


R = TypeVar("R", bound=Resident)


def surplus(models: Iterable[R], limits: Limits, now: float, incoming: int = 0) -> list[R]:
    """Those of the loaded `models` that should go, in that order.

    First the expired, then the least recently used beyond `max_models`, when `incoming` more are about to be loaded.
    """
    models = sorted(models, key=lambda model: model.last_used)
    free_to_go = [model for model in models if model.name not in limits.pinned and not model.is_busy]
    expired = [model for model in free_to_go if limits.idle_s and now - model.last_used >= limits.idle_s]
    excess = len(models) + incoming - limits.max_models - len(expired) if limits.max_models else 0
    return expired + [model for model in free_to_go if model not in expired][: max(0, excess)]


def relieve(
    idle: Iterable[R],
    limits: Limits,
    is_short: Callable[[], bool],
    drop: Callable[[R], int],
    copies: bool,
) -> int:
    """Free host memory until it is not short any more: host copies first, then whole models, least recently used first.

    Args:
        idle: Loaded models that no request uses.
        limits: Pinned models keep everything.
        is_short: Asked before every step.
        drop: Unloads a model and returns the bytes freed.
        copies: Whether host copies may go; they do not where the user wants them kept.

    Returns:
        The bytes freed.
    """
    models = [model for model in sorted(idle, key=lambda model: model.last_used) if model.name not in limits.pinned]
    steps: list[Callable[[], int]] = []
    if copies:
        steps += [handle.drop_host_copies for model in models for handle in model.handles]
    steps += [partial(drop, model) for model in models]
    freed = 0
    for step in steps:
        if not is_short():
            break
        freed += step()
    return freed


class IdleTimer:
    """Calls `tidy` some time later; at most one timer waits at a time, and none when there is nothing to wait for.

    Args:
        tidy: A bound method, held weakly: a timer does not keep a runtime.
        pause: Around every call; while it says no, the timer tries again every `RETRY_S`.
    """

    def __init__(self, tidy: Callable[[], object], pause: Pause = always) -> None:
        self._tidy = WeakMethod(tidy)
        self._pause = pause
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    @property
    def is_armed(self) -> bool:
        """Whether a timer waits."""
        return self._timer is not None

    def arm(self, seconds: float) -> None:
        """Let it ring in so many seconds, unless it waits already: who is called too early arms it again."""
        with self._lock:
            if self._timer is None:
                self._timer = threading.Timer(max(1.0, seconds), self.ring)
                self._timer.daemon = True
                self._timer.start()

    def stop(self) -> None:
        """No longer needed."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def ring(self) -> None:
        """The time has come."""
        with self._lock:
            self._timer = None
        tidy = self._tidy()
        if tidy is None:
            return
        with self._pause() as is_quiet:
            if is_quiet:
                tidy()
        if not is_quiet:
            self.arm(RETRY_S)
