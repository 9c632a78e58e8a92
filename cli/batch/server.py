"""What a batch asks of a running ComfyUI over HTTP. The standard library only; it looks again rather than listens."""

from __future__ import annotations

import contextlib
import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

_TIMEOUT_S = 60.0  # ComfyUI does not answer while a node holds the interpreter
_AWAY = (429, 502, 503, 504)  # what stands before it says that it is not there
_REFUSED = (400, 413, 500)  # of a prompt: this one is not wanted, another may be
_NO_FILE = (400, 404)  # 400: a name it does not like, though it is its own


class ServerGone(Exception):  # noqa: N818 - reads as the state it tells
    """Nobody answers now; somebody may later."""


class PromptRefused(Exception):  # noqa: N818
    """ComfyUI does not take a prompt, or does not have a file; the text is its reason."""


class Server:
    """A ComfyUI at `url`.

    Every method raises `ServerGone` if nobody answers, and OSError if somebody else does.
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    def queued(self) -> set[str]:
        """Ids of the prompts that run or wait, everybody's."""
        queue = self._json("/queue")
        try:
            return {str(item[1]) for name in ("queue_running", "queue_pending") for item in queue[name]}
        except (TypeError, LookupError):
            raise self._stranger() from None

    def history(self, prompt_id: str) -> dict[str, Any] | None:
        """What became of a prompt, or None if it has not ended (or never was there)."""
        entry = self._json(f"/history/{prompt_id}").get(prompt_id)
        if entry is None or isinstance(entry, dict):
            return entry
        raise self._stranger()

    def post(self, prompt: Mapping[str, Any], prompt_id: str) -> None:
        """Queue a prompt under an id of ours, a UUID. `extra_data` stays empty: it would end up in the files.

        Raises:
            PromptRefused: ComfyUI finds it invalid.
        """
        body = json.dumps({"prompt": prompt, "prompt_id": prompt_id, "client_id": "mizuoto-batch"}).encode()
        try:
            answer = self._json("/prompt", body)
        except urllib.error.HTTPError as error:
            if error.code in _REFUSED:
                raise PromptRefused(_reason(error)) from None
            raise self._stranger(error) from None
        if answer.get("prompt_id") != prompt_id:
            raise OSError(f"The ComfyUI at {self.url} numbers prompts itself: it is older than 0.3.75; update it.")

    def view(self, file: Mapping[str, str]) -> bytes:
        """The content of a file that an output node wrote.

        Raises:
            PromptRefused: It is there no more.
        """
        query = urllib.parse.urlencode({name: file.get(name, "") for name in ("filename", "subfolder", "type")})
        try:
            return self._send(f"/view?{query}")
        except urllib.error.HTTPError as error:
            if error.code not in _NO_FILE:
                raise self._stranger(error) from None
            raise PromptRefused(
                f'ComfyUI no longer has its file "{file.get("filename")}" (it answered {error.code}); have it '
                "drop its cache, or restart it, and start again"
            ) from None

    def delete(self, prompt_ids: list[str]) -> None:
        """Take prompts that have not begun out of the queue."""
        self._send("/queue", json.dumps({"delete": prompt_ids}).encode())

    def _json(self, path: str, body: bytes | None = None) -> dict[str, Any]:
        try:
            answer = json.loads(self._send(path, body))
        except urllib.error.HTTPError as error:
            if body is not None:
                raise
            raise self._stranger(error) from None
        except (ValueError, RecursionError):
            raise self._stranger() from None
        if not isinstance(answer, dict):
            raise self._stranger()
        return answer

    def _send(self, path: str, body: bytes | None = None) -> bytes:
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            request = urllib.request.Request(self.url + path, body, headers)
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            if error.code in _AWAY:
                raise ServerGone(f"it answers {error.code}") from None
            raise
        except http.client.InvalidURL:
            raise self._stranger() from None
        except urllib.error.URLError as error:
            raise ServerGone(str(error.reason)) from None
        except (OSError, http.client.HTTPException) as error:
            raise ServerGone(str(error) or type(error).__name__) from None
        except ValueError:  # "nonsense" is no address
            raise self._stranger() from None

    def _stranger(self, error: urllib.error.HTTPError | None = None) -> OSError:
        said = f" (it answered {error.code})" if error else ""
        return OSError(f"What is at {self.url} is no ComfyUI{said}; correct --url.")


def _reason(error: urllib.error.HTTPError) -> str:
    """ComfyUI's own words, those about single nodes first: the general ones say only that there are some."""
    text = error.read().decode("utf-8", "replace")
    with contextlib.suppress(ValueError, TypeError, LookupError, AttributeError):
        answer = json.loads(text)
        told = [
            f"{node['class_type']} (node {name}): {_words(problem)}"
            for name, node in (answer.get("node_errors") or {}).items()
            for problem in node["errors"]
        ]
        return "; ".join(told) or _words(answer["error"])
    return f"ComfyUI answered {error.code}: {' '.join(text.split())[:200]}"


def _words(problem: Mapping[str, Any]) -> str:
    return ": ".join(filter(None, [str(problem["message"]), str(problem.get("details") or "")]))
