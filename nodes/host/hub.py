"""What a repository on the Hugging Face hub holds and the bytes of its files.

Everything goes through `huggingface_hub`, which brings the user's mirror (HF_ENDPOINT), proxies, token and offline
switch; it is imported when something is asked for, never before. Knows nothing of folders and writes nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...mizuoto_runtime.errors import ModelFileError, Unsupported

CHUNK_BYTES = 1 << 18
_OLDEST = (0, 30)
_LOCK_POLL_S = 0.5
_TOO_MANY_REQUESTS = 429
_REASONS = {
    **dict.fromkeys((401, 403), "asks for a token of an account that may read it (HF_TOKEN)"),
    404: "has it not",
}


class ConnectionLost(Exception):  # noqa: N818 - an event, not yet a failure
    """The connection broke or the server is busy: worth another try."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One file of a repository.

    Attributes:
        path: With `/` between folders, as the hub names it; not to be trusted.
        size_bytes: Of the file.
        digest: Hex digest of the content: SHA-256 of a large file (LFS), git's own SHA-1 of any other.
        is_large: Whether it is kept as a large file.
    """

    path: str
    size_bytes: int
    digest: str
    is_large: bool

    def hasher(self) -> Any:
        """A fresh `hashlib` object whose `hexdigest` after the whole content must equal `digest`."""
        if self.is_large:
            return hashlib.sha256()
        return hashlib.sha1(f"blob {self.size_bytes}\0".encode(), usedforsecurity=False)


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a repository at one commit."""

    repo: str
    revision: str
    files: tuple[RemoteFile, ...]


def require() -> None:
    """Check that downloads are possible and wanted here.

    Raises:
        Unsupported: `huggingface_hub` is missing or too old, or the user has switched it offline.
    """
    try:
        from huggingface_hub import __version__, constants
    except ImportError:
        raise Unsupported(_needs_package("which is not installed")) from None
    if tuple(map(int, re.findall(r"\d+", __version__)[:2])) < _OLDEST:  # "1.0rc1" is a version too
        raise Unsupported(_needs_package(f"and {__version__} is installed"))
    if constants.HF_HUB_OFFLINE:
        raise Unsupported(
            "Nothing is downloaded because HF_HUB_OFFLINE (or TRANSFORMERS_OFFLINE) is set; "
            'unset it and start again, or copy the folder of the model into "models/tts".'
        )


def list_files(repo: str, wanted: Callable[[str], bool]) -> Listing:
    """The files of `repo` whose path is `wanted`, at its newest commit.

    Raises:
        ConnectionLost: Try again.
        ModelFileError: The hub has no such repository, keeps it from this user or does not tell sizes and checksums.
    """
    from huggingface_hub import HfApi, constants

    with _translated(repo):
        info = HfApi().model_info(repo, files_metadata=True, timeout=constants.HF_HUB_DOWNLOAD_TIMEOUT)
        siblings = [each for each in info.siblings or () if wanted(each.rfilename)]
    if not siblings:
        raise ModelFileError(f'"{repo}" on {endpoint()} holds no file of a model.')
    return Listing(repo, str(info.sha), tuple(_remote_file(repo, each) for each in siblings))


def read(listing: Listing, file: RemoteFile, offset: int) -> Generator[bytes, None, None]:
    """The content of `file` from `offset` on, in pieces of at most `CHUNK_BYTES`; may end early or late.

    Raises:
        ConnectionLost: Try again from where it broke.
        ModelFileError: The hub no longer has the file or keeps it from this user.
    """
    from huggingface_hub import hf_hub_url
    from huggingface_hub.utils import build_hf_headers, hf_raise_for_status

    headers = {**build_hf_headers(), "Accept-Encoding": "identity"}
    if offset:
        headers["Range"] = f"bytes={offset}-"
    url = hf_hub_url(listing.repo, file.path, revision=listing.revision, endpoint=endpoint())
    with _translated(listing.repo), _response(url, headers) as (response, chunks):
        hf_raise_for_status(response)
        skip = offset if response.status_code == 200 else 0  # a server without ranges sends all of it again
        for chunk in chunks:
            if skip < len(chunk):
                yield chunk[skip:]
            skip = max(0, skip - len(chunk))


@contextmanager
def lock(path: Path, check: Callable[[], None]) -> Iterator[None]:
    """`path` locked against other processes and other calls; `check` is called while waiting and may raise.

    The system frees the lock of a process that was killed.
    """
    from huggingface_hub.utils import WeakFileLock

    with ExitStack() as stack:
        while True:
            check()
            with suppress(TimeoutError):
                stack.enter_context(WeakFileLock(path, timeout=_LOCK_POLL_S))
                break
        yield


def endpoint() -> str:
    """The hub's address, or the user's mirror of it."""
    from huggingface_hub import constants

    return str(constants.ENDPOINT)


def _needs_package(found: str) -> str:
    oldest = ".".join(map(str, _OLDEST))
    return (
        f"Downloading needs the package huggingface_hub {oldest} or newer, {found}; "
        "install it with: python -m pip install -U huggingface_hub"
    )


def _remote_file(repo: str, sibling: Any) -> RemoteFile:
    large = sibling.lfs
    digest = large.sha256 if large else sibling.blob_id
    if sibling.size is None or not digest:
        raise ModelFileError(
            f'{endpoint()} does not tell size and checksum of "{sibling.rfilename}" in "{repo}", so a download could '
            "not be checked; use another mirror (HF_ENDPOINT), or copy the folder of the model into "
            '"models/tts".'
        )
    return RemoteFile(sibling.rfilename, int(sibling.size), str(digest), bool(large))


@contextmanager
def _response(url: str, headers: dict[str, str]) -> Iterator[tuple[Any, Iterator[bytes]]]:
    from huggingface_hub import constants
    from huggingface_hub.utils import get_session

    session, timeout = get_session(), constants.HF_HUB_DOWNLOAD_TIMEOUT
    if callable(getattr(session, "stream", None)):  # httpx from 1.0 on; requests has a flag of that name
        with session.stream("GET", url, headers=headers, timeout=timeout) as response:
            yield response, response.iter_bytes(CHUNK_BYTES)
    else:
        with session.get(url, headers=headers, timeout=timeout, stream=True) as response:
            yield response, response.iter_content(CHUNK_BYTES)


@contextmanager
def _translated(repo: str) -> Iterator[None]:
    from huggingface_hub.errors import HfHubHTTPError

    try:
        yield
    except HfHubHTTPError as error:
        status = error.response.status_code if error.response is not None else 0
        if not status or status >= 500 or status == _TOO_MANY_REQUESTS:
            raise ConnectionLost(f"{endpoint()} is busy (HTTP {status})") from error
        reason = _REASONS.get(status, "refuses it")
        raise ModelFileError(f'Could not download "{repo}": {endpoint()} {reason} (HTTP {status}).') from error
    except Exception as error:  # requests or httpx, by the library's version: they share no base
        raise ConnectionLost(f"{endpoint()} cannot be reached ({type(error).__name__})") from error
