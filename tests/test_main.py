"""`python -m mizuoto`, and the pack's import outside ComfyUI and in one that is too old."""

import json
import subprocess
import sys
import threading
import wave
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from mizuoto.__main__ import main
from mizuoto.tests.host.local import free_port

ROOT = Path(__file__).resolve().parents[1]


# -- speak --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_speak_writes_a_wav_file(tmp_path, capsys, device):
    path = tmp_path / "hello.wav"
    assert main(["speak", "Hello there.", str(path), "--device", device]) == 0
    with wave.open(str(path)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 24000)
        assert 0.3 < file.getnframes() / 24000 < 3
    assert capsys.readouterr().out.startswith(f"{path}: ")


def test_speak_takes_the_first_accelerator_with_auto(tmp_path, monkeypatch, capsys):
    import torch
    from mizuoto.engines import speech
    from mizuoto.mizuoto_runtime.device import DeviceService

    def stop(engine, *_):
        raise OSError(f"asked for {[str(handle.load_device) for handle in engine.handles]}")

    monkeypatch.setattr(DeviceService, "available", lambda self: [torch.device("xpu", 3), torch.device("cpu")])
    monkeypatch.setattr(speech, "speak", stop)
    assert main(["speak", "Hello.", str(tmp_path / "a.wav"), "--device", "auto"]) == 1
    assert "xpu:3" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["missing/hello.wav", "."])
def test_a_wrong_place_is_one_line_before_anything_is_said(tmp_path, monkeypatch, capsys, place):
    from mizuoto.engines import speech

    monkeypatch.setattr(speech, "speak", lambda *_: pytest.fail("it spoke"))
    assert main(["speak", "Hello.", str(tmp_path / place)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("mizuoto: ") and str(tmp_path) in line


@pytest.mark.parametrize("wrong", [["--speed", "99"], ["--seed", "-1"], ["--device", "cuda:77"], ["--device", "gpu"]])
def test_a_failure_leaves_no_new_file_and_keeps_an_old_one(tmp_path, capsys, wrong):
    new, old = tmp_path / "new.wav", tmp_path / "old.wav"
    old.write_bytes(b"mine")
    for path in (new, old):
        assert main(["speak", "Hello.", str(path), *wrong]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("mizuoto: ")
    assert not new.exists() and old.read_bytes() == b"mine"


# -- runtime ------------------------------------------------------------------------------------------------------


@pytest.fixture
def answering(monkeypatch):
    """Starts a server that answers everything alike; gives back its address."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    servers = []

    def start(status, body):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET  # noqa: N815

            def log_message(self, *_):
                pass

        server = HTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_runtime_shows_what_is_loaded_and_frees_it(answering, capsys):
    answer = {"models": [], "released_bytes": 3_000_000}
    assert main(["runtime", "--release", "--url", answering(200, json.dumps(answer).encode())]) == 0
    released, _, shown = capsys.readouterr().out.partition("\n")
    assert released == "3 MB released" and json.loads(shown) == answer


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"<html>\n</html>"),
        (200, b"\xff\xfe"),
        (200, b"{}"),
        (200, b"[1]"),
        (200, b"3"),
        (200, b"[" * 100_000),
        (404, b"<html>\nnot found\n</html>"),
        (500, b"\xff"),
        (403, b'["error"]'),
    ],
)
@pytest.mark.parametrize("release", [[], ["--release"]])
def test_somebody_else_at_the_address_is_one_line(answering, capsys, status, body, release):
    assert main(["runtime", *release, "--url", answering(status, body)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("mizuoto: ") and line.endswith("correct --url.") and "no ComfyUI with this pack" in line


def test_the_packs_own_refusal_is_shown(answering, capsys):
    assert main(["runtime", "--url", answering(409, b'{"error": "A prompt is running; wait."}')]) == 1
    assert capsys.readouterr().err.endswith("answered 409: A prompt is running; wait.\n")


@pytest.mark.parametrize("url", ["nonsense", "localhost:8188", "http://127.0.0.1:port", "http://[", "http://a b"])
def test_an_address_that_is_none_is_one_line(capsys, url):
    assert main(["runtime", "--url", url]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_nobody_at_the_address_is_one_line(monkeypatch, capsys):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert main(["runtime", "--url", f"http://127.0.0.1:{free_port()}"]) == 1
    assert capsys.readouterr().err.startswith("mizuoto: No ComfyUI answers at http://127.0.0.1:")


# -- the import ---------------------------------------------------------------------------------------------------


def imported(*modules):
    """Names that the pack offers in a process with these modules and no comfy_api, and what it says."""
    program = f"""
import importlib.util, sys, types
sys.modules.update({{name: types.ModuleType(name) for name in {modules!r}}})
spec = importlib.util.spec_from_file_location("pack", {str(ROOT / "__init__.py")!r},
                                              submodule_search_locations=[{str(ROOT)!r}])
sys.modules["pack"] = pack = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pack)
print(pack.__all__)
"""
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.strip(), done.stderr.splitlines()


def test_a_too_old_comfyui_is_told_once():
    names, (line,) = imported("nodes", "folder_paths")
    assert names == "['WEB_DIRECTORY']"
    assert line.startswith("ComfyUI-Mizuoto adds no nodes: ") and "0.3.75" in line
    assert all(
        "`ComfyUI-Mizuoto adds no nodes`" in (ROOT / n).read_text("utf-8") for n in ("README.md", "README.zh.md")
    )


@pytest.mark.parametrize("modules", [(), ("nodes",)])
def test_outside_comfyui_the_import_is_silent(modules):
    assert imported(*modules) == ("['WEB_DIRECTORY']", [])
