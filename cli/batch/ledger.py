"""The folder of a batch: the audio files, and `manifest.jsonl`, which says what each of them is.

A file is complete before it has its name, and has its name before the manifest speaks of it, so a kill at any moment
leaves nothing that has to be repaired by hand.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from ...mizuoto_runtime.errors import InvalidRequest
from .workflow import Request

MANIFEST = "manifest.jsonl"
_MARK = ".mizuoto-batch"
_PART = ".mizuoto-part"
_AUDIO = frozenset({".flac", ".mp3", ".opus", ".ogg", ".wav"})
_NAMESPACE = uuid.UUID("5d0c2f5e-6f6b-4f0e-9a55-6a1d3a0f4b77")
DONE, FAILED = "done", "failed"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the manifest. Of an id that has several, the last one counts.

    Attributes:
        id, line, seed: Of the request, see there.
        file: Name in the folder; None if it failed.
        sha256: Of the file.
        seconds: How long it plays, if that is known.
        prompt_id: What ComfyUI knew it by.
        status: "done" or "failed".
        error: Why it failed.
        request: The digest of the request.
        attempt: How often the same request had failed before.
    """

    id: str
    line: int
    file: str | None
    sha256: str | None
    seconds: float | None
    seed: int | None
    prompt_id: str
    status: str
    error: str | None
    request: str
    attempt: int


def refuse_strangers(folder: Path, stems: Iterable[str]) -> None:
    """Nothing, unless this is the first batch in `folder` and audio files in it have names that it would take.

    Raises:
        InvalidRequest: They have.
    """
    if not folder.is_dir() or (folder / _MARK).exists():
        return
    mine = {stem.casefold() for stem in stems}
    for path in folder.iterdir():
        if path.suffix.lower() in _AUDIO and path.stem.casefold() in mine:
            raise InvalidRequest(f'"{path}" is there already and no batch made it: give another --output.')


class Ledger:
    """One batch's folder, held by one process at a time; a context manager.

    Raises:
        InvalidRequest: Another process has it, or its manifest is not one of ours.
        OSError: It cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._mark = (folder / _MARK).open("a+b")
        try:
            _lock(self._mark.fileno(), folder)
            self._batch = self._read_mark()
            self.entries = self._read()
            self._rewrite(self.entries.values())
        except BaseException:
            self._mark.close()
            raise

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._mark.close()

    def prompt_id(self, request: Request) -> str:
        """What ComfyUI shall know a request by: the same as long as it did not fail, so that a later run finds it."""
        name = json.dumps([self._batch, request.line.id, request.digest, self.attempt(request)])
        return str(uuid.uuid5(_NAMESPACE, name))

    def attempt(self, request: Request) -> int:
        """How often this very request has failed so far."""
        entry = self._of(request)
        return entry.attempt + (entry.status == FAILED) if entry else 0

    def is_done(self, request: Request) -> bool:
        """Whether its file is there, unharmed, and made from the same request."""
        entry = self._of(request)
        return bool(entry and entry.status == DONE and self._is_intact(entry))

    def has_failed(self, request: Request) -> bool:
        """Whether the last that is known of this very request is that it failed."""
        entry = self._of(request)
        return bool(entry and entry.status == FAILED)

    def keep(self, request: Request, ending: str, data: bytes, seconds: float | None) -> Entry:
        """Write a request's audio and put it down as done."""
        name = request.line.stem + ending
        attempt, prompt_id = self.attempt(request), self.prompt_id(request)
        self._write(name, data)
        entry = Entry(
            request.line.id, request.line.number, name, _sha256(data), seconds, request.seed, prompt_id, DONE, None,
            request.digest, attempt,
        )  # fmt: skip
        return self._add(entry)

    def fail(self, request: Request, error: str) -> Entry:
        """Put a request down as failed; what an earlier one left under its name goes."""
        attempt, prompt_id = self.attempt(request), self.prompt_id(request)
        entry = Entry(
            request.line.id, request.line.number, None, None, None, request.seed, prompt_id, FAILED, error,
            request.digest, attempt,
        )  # fmt: skip
        return self._add(entry)

    def tidy(self, requests: Iterable[Request]) -> None:
        """Rewrite the manifest: a line an item, in the order of the requests, those of other batches behind."""
        rest = dict(self.entries)
        known = [(request, rest.pop(request.line.id, None)) for request in requests]
        self._rewrite(
            [*(replace(entry, line=request.line.number) for request, entry in known if entry), *rest.values()]
        )

    def _of(self, request: Request) -> Entry | None:
        entry = self.entries.get(request.line.id)
        return entry if entry and entry.request == request.digest else None

    def _is_intact(self, entry: Entry) -> bool:
        with contextlib.suppress(OSError):
            return bool(entry.file) and _sha256((self.folder / str(entry.file)).read_bytes()) == entry.sha256
        return False

    def _add(self, entry: Entry) -> Entry:
        before = self.entries.get(entry.id)
        if before and before.file and before.file != entry.file and self._is_intact(before):
            (self.folder / before.file).unlink()
        with (self.folder / MANIFEST).open("ab") as file:
            file.write(_line(entry))
            file.flush()
            os.fsync(file.fileno())
        self.entries[entry.id] = entry
        return entry

    def _read(self) -> dict[str, Entry]:
        path = self.folder / MANIFEST
        data = path.read_bytes() if path.exists() else b""
        # What stands behind the last line break was cut off by a kill.
        whole = data[: data.rfind(b"\n") + 1].split(b"\n")[:-1]
        entries = {}
        for number, line in enumerate(whole, 1):
            try:
                entry = _entry(json.loads(line))
            except (ValueError, TypeError, RecursionError):
                raise InvalidRequest(
                    f'Line {number} of "{path}" was not written by a batch: give another --output, or delete the line '
                    "and its item is made again."
                ) from None
            entries[entry.id] = entry
        return entries

    def _rewrite(self, entries: Iterable[Entry]) -> None:
        self._write(MANIFEST, b"".join(map(_line, entries)))

    def _write(self, name: str, data: bytes) -> None:
        part = self.folder / _PART
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, self.folder / name)

    def _read_mark(self) -> str:
        """A name for this folder's batch, so that ComfyUI's memory of another one is never taken for it."""
        self._mark.seek(0)
        name = self._mark.read().decode("ascii", "replace")
        with contextlib.suppress(ValueError):
            return str(uuid.UUID(name))
        name = str(uuid.uuid4())
        self._mark.truncate(0)
        self._mark.write(name.encode())
        self._mark.flush()
        os.fsync(self._mark.fileno())
        return name


def _entry(values: Any) -> Entry:
    entry = Entry(**values)
    if not isinstance(entry.id, str) or not isinstance(entry.attempt, int) or entry.status not in (DONE, FAILED):
        raise ValueError("not ours")
    if entry.file is not None and (Path(entry.file).name != entry.file or entry.file == MANIFEST):
        raise ValueError("it leads out of the folder")
    return entry


def _line(entry: Entry) -> bytes:
    return json.dumps(asdict(entry), ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _lock(descriptor: int, folder: Path) -> None:
    """Hold a file until it is closed, which the system does for a process that was killed."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, 1 << 20, os.SEEK_SET)  # behind the content, which others may read
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        raise InvalidRequest(
            f'Another batch is writing to "{folder}" now: wait for it, or give another --output.'
        ) from None
