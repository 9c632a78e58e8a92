"""Starts a real ComfyUI, talks to its HTTP API, and stops it again without leaving a process behind.

Standard library only: the developer tools use it as well as the tests. It knows ComfyUI's API and nothing of the pack.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .local import free_port, is_port_free, link_folder, unlink_folder

START_TIMEOUT_S = 180.0
RUN_TIMEOUT_S = 300.0
LOG_TAIL_LINES = 40


class HostError(Exception):
    """The host did not start, did not answer, or refused a prompt."""


class NodeError(HostError):
    """A node raised during a prompt.

    Attributes:
        node_id: Its id in the prompt.
        node_type: Its class type.
        message: `exception_message` of the history.
        exception_type: Qualified name of the exception's class.
        traceback: As one text.
    """

    def __init__(self, error: Mapping[str, Any]) -> None:
        self.node_id = str(error["node_id"])
        self.node_type = str(error["node_type"])
        self.message = str(error["exception_message"])
        self.exception_type = str(error["exception_type"])
        self.traceback = "".join(error["traceback"])
        super().__init__(f"{self.node_type} (node {self.node_id}): {self.message}\n{self.traceback}")


class InterruptedPromptError(HostError):
    """The prompt was interrupted."""


@dataclass(frozen=True)
class Run:
    """A prompt that came to its end.

    Attributes:
        prompt_id: The id that `queue` gave.
        outputs: UI results, {node id: {name: [values]}}.
        cached: Ids of nodes whose outputs were taken from the cache.
        executed: Ids of nodes that lead to an output and ran.
        seconds: From start to end, by the host's own clock (ms resolution).
        history: The whole history entry.
    """

    prompt_id: str
    outputs: dict[str, dict[str, list[Any]]]
    cached: frozenset[str]
    executed: frozenset[str]
    seconds: float
    history: dict[str, Any]

    def files(self) -> list[dict[str, str]]:
        """Every file that an output node wrote: {"filename", "subfolder", "type"}, in the order of the outputs."""
        found = []
        for output in self.outputs.values():
            for values in output.values():
                found += [value for value in values if isinstance(value, dict) and "filename" in value]
        return found

    def texts(self) -> list[str]:
        """Every text that an output node showed, such as PreviewAny does."""
        return [str(text) for output in self.outputs.values() for text in output.get("text", ())]


class Comfy:
    """One ComfyUI process with a base directory of its own; use it as a context manager, or call `stop`.

    Args:
        host: Folder of the ComfyUI.
        python: Interpreter that has its requirements.
        packs: {folder name below custom_nodes: folder it leads to}.
        links: Further folders to put into the base directory, {relative path: folder it leads to}.
        arguments: Command-line options of ComfyUI, such as "--cpu".
        env: Environment variables to add.
        port: Where it listens; 0 takes a free one.
        front_end: Folder of a web page; None gives an empty one.
    """

    def __init__(
        self,
        host: Path,
        python: str | Path = sys.executable,
        *,
        packs: Mapping[str, Path] | None = None,
        links: Mapping[str, Path] | None = None,
        arguments: Sequence[str] = ("--cpu",),
        env: Mapping[str, str] | None = None,
        port: int = 0,
        front_end: Path | None = None,
    ) -> None:
        self.host = host.resolve()
        self.python = str(python)
        self.arguments = list(arguments)
        self.port = port
        self._wanted_port = port
        self._env = {**os.environ, "PYTHONUNBUFFERED": "1", **(env or {})}
        self._front_end = front_end
        self._links = {f"custom_nodes/{name}": target for name, target in (packs or {}).items()} | dict(links or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None
        self._last_log = ""
        # A proxy of the user's must not come between us and this machine.
        self._http = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    # -- the process ------------------------------------------------------------------------------------------------

    @property
    def base(self) -> Path:
        """The base directory, which holds models, input, output and custom_nodes."""
        if self._folder is None:
            raise HostError("ComfyUI is not started")
        return self._folder / "base"

    @property
    def log_path(self) -> Path:
        """The file that everything it prints goes to."""
        return self.base.parent / "comfyui.log"

    @property
    def url(self) -> str:
        """Where it answers, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Process id."""
        if self._process is None:
            raise HostError("ComfyUI is not started")
        return self._process.pid

    def __enter__(self) -> Comfy:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, timeout_s: float = START_TIMEOUT_S) -> Comfy:
        """Start it and wait until it answers; gives back itself.

        Raises:
            HostError: The port is busy, it died, or it was not ready in time; with the end of its log.
        """
        if self._process is not None:
            raise HostError("ComfyUI is started already")
        if self._wanted_port and not is_port_free(self._wanted_port):
            raise HostError(f"Port {self._wanted_port} is in use: stop what listens there, or choose another port.")
        self.port = self._wanted_port or free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="mizuoto-host-"))
        try:
            self._prepare_base()
            self._launch()
            self._wait_until_ready(timeout_s)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End the process and remove its base directory; what the links lead to stays. Harmless when it is stopped."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            assert process.stdin is not None
            process.stdin.close()
        self._last_log = self.log()
        folder, self._folder = self._folder, None
        if folder is not None:
            for relative in self._links:
                unlink_folder(folder / "base" / relative)
            shutil.rmtree(folder, ignore_errors=True)

    def is_running(self) -> bool:
        """Whether the process is alive."""
        return self._process is not None and self._process.poll() is None

    def log(self) -> str:
        """All that it has printed so far, or until it was stopped."""
        if self._folder is None or not self.log_path.exists():
            return self._last_log
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    def log_tail(self, lines: int = LOG_TAIL_LINES) -> str:
        """The last lines of the log."""
        return "\n".join(self.log().splitlines()[-lines:])

    def _prepare_base(self) -> None:
        for name in ("custom_nodes", "models", "input", "output", "user"):
            if name not in self._links:
                (self.base / name).mkdir(parents=True)
        for relative, target in self._links.items():
            link_folder(target, self.base / relative)
        page = self.base.parent / "page"
        page.mkdir()
        (page / "index.html").write_text("<!doctype html><title>ComfyUI</title>", encoding="ascii")

    def _launch(self) -> None:
        command = [self.python, str(Path(__file__).with_name("launch.py")), str(self.host / "main.py")]
        command += ["--listen", "127.0.0.1", "--port", str(self.port), "--base-directory", str(self.base)]
        command += ["--front-end-root", str(self._front_end or self.base.parent / "page")]
        command += ["--database-url", "sqlite:///:memory:", "--disable-auto-launch", *self.arguments]
        # In a session of its own, Ctrl-C in the terminal reaches only us, and we stop it in good order.
        own_group: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            own_group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        with self.log_path.open("wb") as log:
            self._process = subprocess.Popen(
                command, cwd=self.host, env=self._env, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT,
                **own_group,
            )  # fmt: skip

    def _wait_until_ready(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if not self.is_running():
                raise HostError(f"ComfyUI ended while starting. Its log ends with:\n{self.log_tail()}")
            try:
                self.get("/system_stats")
                return
            except (HostError, OSError):
                time.sleep(0.1)
        raise HostError(f"ComfyUI was not ready after {timeout_s:.0f} s. Its log ends with:\n{self.log_tail()}")

    # -- HTTP -------------------------------------------------------------------------------------------------------

    def get(self, path: str) -> Any:
        """The JSON that a path answers with, or its bytes if it is something else.

        Raises:
            HostError: It answered with an error status; the text holds the body.
        """
        return self._send(urllib.request.Request(self.url + path))

    def post(self, path: str, body: object = None) -> Any:
        """Send JSON and give back the answer as `get` does."""
        return self._send(self._json_request(path, body, "POST"))

    def put(self, path: str, body: object) -> Any:
        """The same with PUT."""
        return self._send(self._json_request(path, body, "PUT"))

    def _json_request(self, path: str, body: object, method: str) -> urllib.request.Request:
        data = json.dumps({} if body is None else body).encode()
        headers = {"Content-Type": "application/json"}
        return urllib.request.Request(self.url + path, data, headers, method=method)

    def view(self, file: Mapping[str, str]) -> bytes:
        """The content of a file that an output node wrote; see `Run.files`."""
        names = ("filename", "subfolder", "type")
        query = urllib.parse.urlencode({name: file[name] for name in names if name in file})
        with self._http.open(f"{self.url}/view?{query}", timeout=60) as answer:
            return bytes(answer.read())

    def _send(self, request: urllib.request.Request) -> Any:
        try:
            with self._http.open(request, timeout=60) as answer:
                content = answer.read()
                is_json = "json" in (answer.headers.get("Content-Type") or "")
        except urllib.error.HTTPError as error:
            text = error.read().decode("utf-8", "replace")
            raise HostError(f"{request.get_method()} {request.selector}: {error.code}: {text}") from None
        return json.loads(content) if is_json else content

    # -- prompts ----------------------------------------------------------------------------------------------------

    def queue(self, prompt: Mapping[str, Any]) -> str:
        """Queue a prompt in API form; its id.

        Raises:
            HostError: The host finds it invalid; the text holds its reasons.
        """
        return str(self.post("/prompt", {"prompt": prompt, "client_id": "mizuoto-tests"})["prompt_id"])

    def history(self, prompt_id: str) -> dict[str, Any] | None:
        """The history entry of a prompt, or None while it waits or runs."""
        return self.get(f"/history/{prompt_id}").get(prompt_id)

    def wait(self, prompt_id: str, timeout_s: float = RUN_TIMEOUT_S) -> Run:
        """Wait for a prompt to end.

        Raises:
            NodeError: A node raised.
            InterruptedPromptError: It was interrupted.
            HostError: The host died, or the time is over.
        """
        deadline = time.monotonic() + timeout_s
        pause = 0.002
        while time.monotonic() < deadline:
            if not self.is_running():
                raise HostError(f"ComfyUI died. Its log ends with:\n{self.log_tail()}")
            entry = self.history(prompt_id)
            if entry is not None:
                return _read_entry(prompt_id, entry)
            time.sleep(pause)
            pause = min(pause * 1.5, 0.1)
        raise HostError(f"The prompt did not end within {timeout_s:.0f} s. The log ends with:\n{self.log_tail()}")

    def run(self, prompt: Mapping[str, Any], timeout_s: float = RUN_TIMEOUT_S) -> Run:
        """Queue a prompt and wait for its end; raises what `queue` and `wait` raise."""
        return self.wait(self.queue(prompt), timeout_s)

    def wait_until_running(self, prompt_id: str, timeout_s: float = 30.0) -> None:
        """Wait until the host works on a prompt.

        Raises:
            HostError: It ended before, or the time is over.
        """
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if any(item[1] == prompt_id for item in self.get("/queue")["queue_running"]):
                return
            if self.history(prompt_id) is not None:
                raise HostError(f"Prompt {prompt_id} has ended already")
            time.sleep(0.005)
        raise HostError(f"Prompt {prompt_id} did not start within {timeout_s:.0f} s")

    def interrupt(self, prompt_id: str, timeout_s: float = 30.0) -> None:
        """Interrupt a prompt and wait until it has ended.

        The host forgets requests that reach it between its taking a prompt off the queue and its first node, so the
        request is repeated while the prompt goes on.

        Raises:
            HostError: It goes on for `timeout_s` all the same.
        """
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            self.post("/interrupt")
            asked_again = time.monotonic() + 0.5
            while time.monotonic() < asked_again:
                if self.history(prompt_id) is not None:
                    return
                time.sleep(0.01)
        raise HostError(f"Prompt {prompt_id} went on for {timeout_s:.0f} s. The log ends with:\n{self.log_tail()}")

    def free(self, unload_models: bool = True, free_memory: bool = True) -> None:
        """Ask for models to be unloaded and, with `free_memory`, for all caches to be dropped; done between prompts."""
        self.post("/free", {"unload_models": unload_models, "free_memory": free_memory})


def _read_entry(prompt_id: str, entry: dict[str, Any]) -> Run:
    status = entry["status"]
    messages = dict(status["messages"])
    if "execution_error" in messages:
        raise NodeError(messages["execution_error"])
    if "execution_interrupted" in messages:
        raise InterruptedPromptError(f"Prompt {prompt_id} was interrupted")
    if status["status_str"] != "success":
        raise HostError(f"Prompt {prompt_id} ended with {status}")
    cached = frozenset(messages["execution_cached"]["nodes"])
    begin, end = messages["execution_start"]["timestamp"], messages["execution_success"]["timestamp"]
    leading = _ancestors(entry["prompt"][2], entry["prompt"][4])
    return Run(prompt_id, entry["outputs"], cached, leading - cached, (end - begin) / 1000, entry)


def _ancestors(prompt: Mapping[str, Any], outputs: Sequence[str]) -> frozenset[str]:
    seen: set[str] = set()
    waiting = list(outputs)
    while waiting:
        node_id = waiting.pop()
        if node_id in seen:
            continue
        seen.add(node_id)
        for value in prompt[node_id]["inputs"].values():
            if isinstance(value, list) and len(value) == 2 and value[0] in prompt:
                waiting.append(value[0])
    return frozenset(seen)
