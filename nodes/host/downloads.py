"""Downloads of official checkpoints: one job a model, started by a user's choice and by nothing else.

A job runs in a thread of its own and writes into a hidden folder beside its target, which gets the model's name only
when every file is there and its checksum is right. What a stopped job leaves is where the next one goes on. Whoever
waits only looks at the job, so that a node and a panel can follow, join and stop the same one.
"""

from __future__ import annotations

import copy
import logging
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, TypeVar

from ...engines.base import Download
from ...mizuoto_runtime.errors import Cancelled, ModelFileError
from . import hub

T = TypeVar("T")
State = Literal["running", "done", "stopped", "failed"]

_log = logging.getLogger("mizuoto.downloads")
# Everything a model may need and nothing that could run: no .py, .bin, .pt, .pkl.
_DESCRIPTIONS = (".json", ".txt", ".model", ".tiktoken")
# What is no plain name on some system: empty, ending in a dot or space, one of Windows's devices, special characters.
_ODD_NAME = re.compile(
    r'^$|[. ]$|^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\.|$)|[\\:*?"<>|\x00-\x1f]', re.I
)
_POLL_S = 0.2
_TRIES = 5
_PAUSE_S = 0.5  # before the second try; doubles with every further one
_SPARE_BYTES = 64 << 20  # a disk filled to the last byte troubles everybody on it
_guard = threading.Lock()
_jobs: dict[Path, Job] = {}
on_start: list[Callable[[Job], None]] = []  # each is told of every new job, whoever wants it


class Job:
    """The download of one model; made by `start`.

    Attributes:
        download: What is fetched.
        target: The folder it will be.
        total_bytes: Of all files; the manifest's figure until the hub has told.
        done_bytes: Of these, what lies on the disk and has gone through the checksum.
        fetched_bytes: What came over the net.
        error: Why it failed.
    """

    def __init__(self, download: Download, root: Path) -> None:
        self.download = download
        self.target = root / download.name
        self.total_bytes = download.size_bytes
        self.done_bytes = 0
        self.fetched_bytes = 0
        self.error: Exception | None = None
        self.holders = 0
        self._partial = _partial(download, root)
        self._ended = threading.Event()
        self._stop = threading.Event()

    @property
    def state(self) -> State:
        """Where it stands."""
        if not self._ended.is_set():
            return "stopped" if self._stop.is_set() else "running"
        if self.error is None:
            return "done"
        return "stopped" if isinstance(self.error, Cancelled) else "failed"

    @property
    def has_ended(self) -> bool:
        """Whether it does nothing any more; a stopped one goes on until the hub's next word."""
        return self._ended.is_set()

    def stop(self) -> None:
        """End it soon, and the next `wait` at once; what is there stays for the next job."""
        self._stop.set()

    def wait(self, timeout_s: float) -> bool:
        """Whether it ended within the time.

        Raises:
            Cancelled: It was stopped.
            MizuotoError: It failed; the text says why and what to do.
        """
        self._check_stop()
        ended = self._ended.wait(timeout_s)
        self._check_stop()
        if ended and self.error is not None:
            raise copy.copy(self.error)  # the job stays, and the frames that this one passes through must not
        return ended

    def _check_stop(self) -> None:
        if self._stop.is_set() and not (self._ended.is_set() and self.error is None):
            raise Cancelled(f'The download of "{self.download.name}" was stopped; choose it again to go on with it.')

    def _run(self) -> None:
        try:
            hub.require()
            self._fetch()
        except OSError as error:
            self.error = self._failure(f'"{_shown(self.target.parent)}" cannot be written ({error.strerror or error})')
        except Exception as error:  # noqa: BLE001 - the end of the thread: `wait` raises it in the caller's
            _log.debug("Download of %s ended.", self.download.name, exc_info=True)
            self.error = error.with_traceback(None)
            self.error.__cause__ = self.error.__context__ = None
        finally:
            self._ended.set()

    def _fetch(self) -> None:
        self._partial.parent.mkdir(parents=True, exist_ok=True)
        lock = _lock(self._partial)
        try:
            with hub.lock(lock, self._check_stop):
                if not self.target.exists():  # it does where another process was faster
                    self._partial.mkdir(exist_ok=True)
                    self._fill()
                    os.replace(self._partial, self.target)
        finally:
            with suppress(OSError):
                self._partial.rmdir()  # unless something was fetched
            if not self._partial.exists():
                with suppress(OSError):
                    lock.unlink()

    def _fill(self) -> None:
        found = [item for source in _sources(self.download) for item in self._listed(source)]
        self.total_bytes = sum(item.file.size_bytes for item in found)
        self._check_space(sum(item.place.stat().st_size for item in found if item.place.is_file()))
        for listing, file, place in found:
            place.parent.mkdir(parents=True, exist_ok=True)
            is_resumed = place.exists()
            if not (self._complete(listing, file, place) or (is_resumed and self._complete(listing, file, place))):
                raise self._failure(
                    f'"{file.path}" came with a wrong checksum and was deleted; '
                    "start it again, and set another mirror (HF_ENDPOINT) if that does not help",
                )
        self._check_stop()

    def _listed(self, source: _Source) -> Iterator[_Item]:
        """What the hub has of a source."""
        listing = self._patiently(lambda: hub.list_files(source.repo, source.is_wanted))
        missing = set(source.files) - {file.path for file in listing.files}
        if missing:
            raise self._failure(f'"{source.repo}" on {hub.endpoint()} has no file "{min(missing)}"')
        for file in listing.files:
            yield _Item(listing, file, _inside(self._partial, source.target(file.path)))

    def _complete(self, listing: hub.Listing, file: hub.RemoteFile, place: Path) -> bool:
        """Go on with the file to its end; whether it is right then. A wrong one is deleted."""
        before, digest = self.done_bytes, file.hasher()
        with place.open("a+b") as stream:
            stream.seek(0)
            while chunk := stream.read(hub.CHUNK_BYTES):
                self._take(chunk, digest)
            self._patiently(lambda: self._pull(listing, file, stream, digest))
            is_right = stream.tell() == file.size_bytes and digest.hexdigest() == file.digest
        if not is_right:
            place.unlink()
            self.done_bytes = before
        return is_right

    def _pull(self, listing: hub.Listing, file: hub.RemoteFile, stream: BinaryIO, digest: Any) -> None:
        position = stream.tell()
        if position >= file.size_bytes:
            return
        with closing(hub.read(listing, file, position)) as chunks:
            for chunk in chunks:
                stream.write(chunk)
                self.fetched_bytes += len(chunk)
                self._take(chunk, digest)
                position += len(chunk)
                if position > file.size_bytes:
                    return  # not what was listed: the checksum will say so
        if position < file.size_bytes:
            raise hub.ConnectionLost("the connection ended early")

    def _take(self, chunk: bytes, digest: Any) -> None:
        digest.update(chunk)
        self.done_bytes += len(chunk)
        self._check_stop()

    def _patiently(self, action: Callable[[], T]) -> T:
        failures = 0
        while True:
            before = self.done_bytes
            try:
                return action()
            except hub.ConnectionLost as error:
                failures = 1 if self.done_bytes > before else failures + 1
                if failures == _TRIES:
                    raise self._failure(
                        f"{error}; check the connection, or set HF_ENDPOINT to a mirror, and start it again to go on, "
                        f'or copy the folder into "{_shown(self.target.parent)}" yourself'
                    ) from error
                _log.warning('Download of "%s": %s; trying again.', self.download.name, error)
                self._stop.wait(_PAUSE_S * 2 ** (failures - 1))
                self._check_stop()

    def _check_space(self, present_bytes: int) -> None:
        needed = self.total_bytes - present_bytes + _SPARE_BYTES
        free = shutil.disk_usage(self._partial).free
        if needed > free:
            raise ModelFileError(
                f'"{self.download.name}" needs {_gb(needed)} more on the disk of "{_shown(self.target.parent)}" and '
                f"{_gb(free)} is free; make room or choose a folder on another disk in extra_model_paths.yaml."
            )

    def _failure(self, why: str) -> ModelFileError:
        return ModelFileError(
            f'Could not download "{self.download.name}" ({_gb(self.done_bytes)} of {_gb(self.total_bytes)} is there): '
            f"{why}.",
        )


class _Source(NamedTuple):
    """A part of a repository, and where in the model's folder it goes."""

    repo: str
    is_wanted: Callable[[str], bool]
    target: Callable[[str], str]
    files: tuple[str, ...] = ()  # that must be there


class _Item(NamedTuple):
    """One file to fetch."""

    listing: hub.Listing
    file: hub.RemoteFile
    place: Path


def _sources(download: Download) -> Iterator[_Source]:
    """Where the files of a model are: its own repository, then those of its companions."""
    above = f"{download.folder}/" if download.folder else ""
    endings = (*_DESCRIPTIONS, *download.weights)

    def is_wanted(path: str) -> bool:
        # The second set of some repositories, in fp32, holds nothing that is read.
        return path.startswith(above) and path.endswith(endings) and ".fp32" not in path

    yield _Source(download.repo, is_wanted, lambda path: path.removeprefix(above))
    for each in download.companions:
        target = f"{each.folder}/{{}}".format
        yield _Source(each.repo, set(each.files).__contains__, target, each.files)


def start(download: Download, root: Path) -> Job:
    """The running job that fetches `download` into `root`, or a new one; give it back with `leave`."""
    with _guard:
        key = root / download.name
        job = _jobs.get(key)
        if job is None or job.state != "running":
            job = _jobs[key] = Job(download, root)
            for tell in on_start:
                tell(job)
            threading.Thread(target=job._run, name=f"mizuoto download {download.name}", daemon=True).start()
        job.holders += 1
        return job


def leave(job: Job) -> None:
    """Say that the caller of `start` has no more interest; a running job that nobody holds is stopped."""
    with _guard:
        job.holders -= 1
        if not job.holders:
            job.stop()


def jobs() -> list[Job]:
    """The newest job of every model that was asked for since the start."""
    with _guard:
        return list(_jobs.values())


def left_bytes(download: Download, root: Path) -> int | None:
    """Of `download`, what lies in `root` of a job that did not come to its end; None where there is nothing."""
    partial = _partial(download, root)
    if not partial.is_dir():
        return None
    with suppress(FileNotFoundError):  # it came to its end meanwhile
        return sum(path.stat().st_size for path in partial.rglob("*") if path.is_file())
    return None


def discard(download: Download, root: Path, on_check: Callable[[], None]) -> None:
    """Stop the job of `download` in `root`, whoever wants it, and remove what it left; waits until it has hung up.

    Args:
        download: What was to be fetched.
        root: Where.
        on_check: Called twice a second while some job, here or in another process, writes; may raise to give up.
    """
    with _guard:
        job = _jobs.pop(root / download.name, None)
    if job is not None:
        job.stop()
    partial = _partial(download, root)
    lock = _lock(partial)
    if not partial.exists() and not lock.exists():
        return
    with hub.lock(lock, on_check):
        shutil.rmtree(partial, ignore_errors=True)
    with suppress(OSError):
        lock.unlink()


def fetch(
    download: Download, root: Path, on_progress: Callable[[int, int], None], on_check: Callable[[], None]
) -> Path:
    """The folder of `download` in `root`, fetched if it is not there.

    Args:
        download: What to fetch.
        root: Where its folder shall lie.
        on_progress: Called several times a second with (bytes done, bytes in all).
        on_check: Called as often; may raise to give up, which stops the job unless somebody else holds it.

    Raises:
        Unsupported: Offline, or `huggingface_hub` is missing or too old.
        ModelFileError: The connection, the disk or the repository is at fault.
        Cancelled: Somebody stopped the job.
    """
    job = start(download, root)
    try:
        while not job.wait(_POLL_S):
            on_check()
            on_progress(job.done_bytes, job.total_bytes)
    finally:
        leave(job)
    on_progress(job.total_bytes, job.total_bytes)
    return job.target


def _partial(download: Download, root: Path) -> Path:
    return root / f".{download.name}.download"


def _lock(partial: Path) -> Path:
    return partial.with_name(f"{partial.name}.lock")


def _inside(folder: Path, name: str) -> Path:
    """Where the file that the hub calls `name` goes; never outside `folder`."""
    parts = name.split("/")
    place = folder.joinpath(*parts)
    if any(map(_ODD_NAME.search, parts)) or not place.resolve().is_relative_to(folder.resolve()):
        raise ModelFileError(f'The hub names a file "{name}", which is no safe path; nothing was fetched.')
    return place


def _gb(size_bytes: int) -> str:
    return f"{size_bytes / 1e9:.2f} GB"


def _shown(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}"
