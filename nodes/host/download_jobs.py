"""Downloads as the page sees them: started, paused, resumed and cancelled by a click, and watched by every open page.

All of this runs in the loop of ComfyUI's server; only a download itself has a thread. While one runs, whoever started
it, all pages are told of it four times a second. What a stopped one left on the disk is what "paused" means, so a
restart forgets nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...mizuoto_runtime.errors import ModelFileError, Unsupported
from . import downloads, folders, hub
from .folders import MissingModel

EVENT = "mizuoto.download"
_INTERVAL_S = 0.25
_NUM_SAMPLES = 9  # of the speed: the last two seconds
_PATIENCE_S = 30.0  # with a hub or another process that keeps a cancelled download from ending

Message = dict[str, Any]


@dataclass(slots=True)
class _Watch:
    """What is known of a running job beyond the job itself."""

    job: downloads.Job
    lying_bytes: int
    samples: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=_NUM_SAMPLES))

    def sample(self) -> None:
        self.samples.append((time.monotonic(), self.job.fetched_bytes))

    @property
    def bytes_per_second(self) -> int:
        if len(self.samples) < 2:
            return 0
        (begin, first), (end, last) = self.samples[0], self.samples[-1]
        return round((last - first) / max(end - begin, 1e-3))


class DownloadJobs:
    """The downloads of official models; all but `describe` belongs to the loop's own thread.

    Attributes:
        number: Of the newest message, and so of what `describe` says. It grows, over restarts too, so that a page can
            tell which of two is the newer one, by whatever way they came.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, send: Callable[[str, Message], None]) -> None:
        """Follow every download from now on.

        Args:
            loop: Of the server.
            send: Tells every page of (event, message).
        """
        self._loop = loop
        self._send = send
        self._watches: dict[str, _Watch] = {}
        self._held: dict[str, downloads.Job] = {}  # started here, so that no node's end stops them
        self._cancelling: set[str] = set()
        self._told: dict[str, Message] = {}
        self.number = time.time_ns() // 1_000_000
        downloads.on_start.append(self._on_start)

    def describe(self, model: MissingModel) -> Message | None:
        """How its download stands; None where there is none."""
        root = folders.default_root()
        job = _newest_job(model)
        if job is not None and job.state == "running":
            watch = self._watches.get(model.name)
            if watch is None or watch.job is not job:
                watch = _Watch(job, downloads.left_bytes(model.download, root) or 0)
            # A resumed one first reads what lies there; the bar does not start anew for that.
            done = min(max(job.done_bytes, watch.lying_bytes), job.total_bytes)
            return _message(model, "running", done, job.total_bytes, bytes_per_second=watch.bytes_per_second)
        left = downloads.left_bytes(model.download, root)
        total = max(job.total_bytes if job is not None else model.download.size_bytes, left or 0)
        error = _failure(model, job)
        if error is not None:
            return _message(model, "failed", left or 0, total, error=str(error))
        if left is None and (job is None or job.state == "done"):  # and removed by somebody since
            return None
        return _message(model, "paused", left or 0, total)

    async def start(self, model: MissingModel) -> Message:
        """Fetch it, or go on with it, and say how that stands; one that runs or is installed stays as it is.

        Raises:
            Unsupported: It is being cancelled, or downloads are not possible or wanted here.
            ModelFileError: Something else lies in its place.
        """
        installed = await asyncio.to_thread(_check, model)
        if installed is not None:
            return self._tell(_message(model, "done", installed=installed))
        if model.name in self._cancelling:
            raise Unsupported(f'The download of "{model.name}" is being cancelled; start it again in a moment.')
        held = self._held.get(model.name)
        if held is None or held.state != "running":
            self._held[model.name] = downloads.start(model.download, folders.default_root())
        return self._tell(self._now(model))

    def pause(self, model: MissingModel) -> Message:
        """Stop it and keep what is there.

        Raises:
            Unsupported: It does not run.
        """
        job = _newest_job(model)
        if job is None or job.state != "running":
            raise Unsupported(f'"{model.name}" is not being downloaded, so there is nothing to pause.')
        job.stop()
        return self._tell(self._now(model))

    async def cancel(self, model: MissingModel) -> Message:
        """Stop it and remove what is there; harmless where nothing is.

        Raises:
            ModelFileError: Another process goes on with it, or its files cannot be removed.
        """
        self._cancelling.add(model.name)
        try:
            await asyncio.to_thread(downloads.discard, model.download, folders.default_root(), _patience(model))
        except OSError as error:
            raise ModelFileError(
                f'The partial files of "{model.name}" cannot be removed ({error.strerror or error}).'
            ) from None
        finally:
            self._cancelling.discard(model.name)
        return self._tell(await asyncio.to_thread(self._end, model))

    def _on_start(self, job: downloads.Job) -> None:
        asyncio.run_coroutine_threadsafe(self._follow(job), self._loop)

    async def _follow(self, job: downloads.Job) -> None:
        """Tell of a job until its end, or until another took its place."""
        name = job.download.name
        model = folders.official_models()[name]
        left = await asyncio.to_thread(downloads.left_bytes, job.download, job.target.parent)
        watch = self._watches[name] = _Watch(job, left or 0)
        while not job.has_ended:
            watch.sample()
            if _newest_job(model) is job:
                self._tell(self._now(model))
            await asyncio.sleep(_INTERVAL_S)
        if self._watches.get(name) is watch:
            del self._watches[name]
        if self._held.get(name) is job:
            del self._held[name]
            downloads.leave(job)
        if _newest_job(model) is job:
            self._tell(await asyncio.to_thread(self._end, model))

    def _now(self, model: MissingModel) -> Message:
        return self.describe(model) or _message(model, "cancelled")

    def _end(self, model: MissingModel) -> Message:
        """How a job ended; after one that was successful the new model is there for every node."""
        folders.refresh()
        found = folders.installed_as(model.name)
        return self._now(model) if found is None else _message(model, "done", installed=found.name)

    def _tell(self, message: Message) -> Message:
        name = message["model"]
        if self._told.get(name) != message and name not in self._cancelling:
            self._told[name] = message
            self.number += 1
            self._send(EVENT, {**message, "number": self.number})
        return {**message, "number": self.number}


def _check(model: MissingModel) -> str | None:
    """The name under which it is installed; None if it can be fetched."""
    folders.refresh()
    found = folders.installed_as(model.name)
    if found is not None:
        return found.name
    hub.require()
    if (folders.default_root() / model.name).exists():
        raise folders.incomplete(model)
    return None


def _newest_job(model: MissingModel) -> downloads.Job | None:
    target = folders.default_root() / model.name
    return next((job for job in downloads.jobs() if job.target == target), None)


def _failure(model: MissingModel, job: downloads.Job | None) -> Exception | None:
    """Why a job that does not run has brought nothing; None if it was stopped or there was none."""
    if job is None or job.state == "stopped":
        return None
    if job.error is None and job.target.exists():
        return folders.incomplete(model)
    return job.error


def _patience(model: MissingModel) -> Callable[[], None]:
    give_up = time.monotonic() + _PATIENCE_S

    def check() -> None:
        if time.monotonic() > give_up:
            raise ModelFileError(f'Another ComfyUI goes on with "{model.name}"; cancel it there.')

    return check


def _message(
    model: MissingModel, state: str, done_bytes: int = 0, total_bytes: int = 0, bytes_per_second: int = 0,
    error: str = "", installed: str = "",
) -> Message:  # fmt: skip
    return {
        "model": model.name,
        "state": state,
        "done_bytes": done_bytes,
        "total_bytes": total_bytes,
        "bytes_per_second": bytes_per_second,
        "error": error,
        "installed": installed,
    }
