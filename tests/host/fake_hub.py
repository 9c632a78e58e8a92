"""A Hugging Face hub on this machine: the routes that a download uses, and every way in which they go wrong.

Standard library only; knows nothing of the pack.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REVISION = "0123456789abcdef0123456789abcdef01234567"
LARGE = (".safetensors", ".bin")
_PIECE = 1 << 16


@dataclass(frozen=True)
class Request:
    """What the hub was asked: method, path without query, and where a range began."""

    method: str
    path: str
    start: int | None


@dataclass
class FakeHub:
    """Serves `repos` while it is entered as a context manager.

    Attributes:
        repos: {"owner/name": {path: content}}.
        requests: All requests so far.
        sent_bytes: {path: bytes of content that went out, or were about to}.
        cut_after: {path: content bytes after which the connection breaks, once}.
        lies: {path: content that is sent instead}.
        statuses: {path or repo: HTTP statuses to answer with first, one a request}.
        has_ranges: Whether a Range header counts.
        tells_checksums: Whether the listing has sizes and checksums.
        rate_bytes: Per second and connection; 0 is as fast as can be.
        held_at: {path: content bytes after which nothing comes}; set by `hold`.
    """

    repos: dict[str, dict[str, bytes]]
    requests: list[Request] = field(default_factory=list)
    sent_bytes: dict[str, int] = field(default_factory=dict)
    cut_after: dict[str, int] = field(default_factory=dict)
    lies: dict[str, bytes] = field(default_factory=dict)
    statuses: dict[str, list[int]] = field(default_factory=dict)
    has_ranges: bool = True
    tells_checksums: bool = True
    rate_bytes: int = 0
    held_at: dict[str, int] = field(default_factory=dict)
    _change: threading.Condition = field(default_factory=threading.Condition)

    def __enter__(self) -> FakeHub:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": self}))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """What HF_ENDPOINT has to be."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def hold(self, path: str, position: int) -> None:
        """Send the content of `path` up to `position`, and no more before `release` or a further `hold`."""
        with self._change:
            self.held_at[path] = position
            self._change.notify_all()

    def release(self) -> None:
        """Hold nothing any more."""
        with self._change:
            self.held_at.clear()
            self._change.notify_all()

    def limit(self, path: str, position: int) -> int:
        """Up to where the content of `path` may be sent; waits while that is no further than `position`."""
        with self._change:
            self._change.wait_for(lambda: position < self.held_at.get(path, position + 1))
            return self.held_at.get(path, sys.maxsize)

    def listing(self, repo: str) -> dict[str, Any]:
        """The model info with `blobs=True`."""
        siblings = [{"rfilename": path, **self._facts(path, content)} for path, content in self.repos[repo].items()]
        return {"_id": "1", "id": repo, "modelId": repo, "sha": REVISION, "private": False, "siblings": siblings}

    def _facts(self, path: str, content: bytes) -> dict[str, Any]:
        if not self.tells_checksums:
            return {}
        facts: dict[str, Any] = {"size": len(content)}
        facts["blobId"] = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        if path.endswith(LARGE):  # git only knows the pointer of such a file
            facts["blobId"] = hashlib.sha1(b"pointer").hexdigest()
            facts["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}
        return facts


class _Handler(BaseHTTPRequestHandler):
    hub: FakeHub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def do_HEAD(self) -> None:
        self._answer(is_head=True)

    def do_GET(self) -> None:
        self._answer(is_head=False)

    def _answer(self, is_head: bool) -> None:
        path = self.path.partition("?")[0]
        begin = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        self.hub.requests.append(Request(self.command, path, int(begin[1]) if begin else None))
        api = re.fullmatch(r"/api/models/([^/]+/[^/]+)", path)
        resolve = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        stored = re.fullmatch(r"/stored/([^/]+/[^/]+)/(.+)", path)
        with suppress(ConnectionError):
            if api and self._may(api[1]):
                self._json(self.hub.listing(api[1]))
            elif resolve and resolve[2] == REVISION and self._may(resolve[1], resolve[3]):
                self._start(302, 0, Location=f"/stored/{resolve[1]}/{resolve[3]}")  # as the hub does for large files
            elif stored:
                self._content(stored[1], stored[2], int(begin[1]) if begin and self.hub.has_ranges else None, is_head)

    def _may(self, repo: str, path: str | None = None) -> bool:
        waiting = self.hub.statuses.get(path or repo)
        known = repo in self.hub.repos and (path is None or path in self.hub.repos[repo])
        status = waiting.pop(0) if waiting else 200 if known else 404
        if status != 200:
            self._start(status, 0)
        return status == 200

    def _json(self, value: object) -> None:
        body = json.dumps(value).encode()
        self._start(200, len(body), **{"Content-Type": "application/json"})
        self.wfile.write(body)

    def _content(self, repo: str, path: str, begin: int | None, is_head: bool) -> None:
        content = self.hub.lies.get(path, self.hub.repos[repo][path])
        start = begin or 0
        extra = {} if begin is None else {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"}
        self._start(200 if begin is None else 206, len(content) - start, **extra)
        if is_head:
            return
        end = self.hub.cut_after.pop(path, len(content))
        position = start
        while position < end:
            piece = content[position : min(position + _PIECE, end, self.hub.limit(path, position))]
            position += len(piece)
            # Counted first: a client may be done before the next line here runs.
            self.hub.sent_bytes[path] = self.hub.sent_bytes.get(path, 0) + len(piece)
            self.wfile.write(piece)
            if self.hub.rate_bytes:
                time.sleep(len(piece) / self.hub.rate_bytes)
        if end < len(content):
            self.close_connection = True

    def _start(self, status: int, size: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(size), "X-Repo-Commit": REVISION, **headers}.items():
            self.send_header(name, value)
        self.end_headers()
