"""The harness itself, with nodes that have nothing to do with speech."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mizuoto.tests.host.comfy import Comfy, HostError, InterruptedPromptError, NodeError
from mizuoto.tests.host.local import is_port_free

HERE = Path(__file__).resolve().parent


def text_prompt(text, node="MizuotoTestText", **inputs):
    return {
        "1": {"class_type": node, "inputs": {"text": text, **inputs}},
        "2": {"class_type": "PreviewAny", "inputs": {"source": ["1", 0]}},
    }


def test_runs_core_nodes_and_hands_out_what_they_wrote(comfy):
    run = comfy.run(
        {
            "1": {"class_type": "EmptyAudio", "inputs": {"duration": 0.5, "sample_rate": 16000, "channels": 1}},
            "2": {"class_type": "SaveAudio", "inputs": {"audio": ["1", 0], "filename_prefix": "quiet"}},
            "9": {"class_type": "MizuotoTestText", "inputs": {"text": "leads nowhere"}},
        }
    )
    (file,) = run.files()
    assert comfy.view(file)[:4] == b"fLaC"
    assert run.executed == {"1", "2"}


def test_tells_cached_nodes_from_executed_ones(comfy):
    first = comfy.run(text_prompt("cached or not"))
    assert first.executed == {"1", "2"} and not first.cached
    assert first.texts() == ["cached or not"]
    again = comfy.run(text_prompt("cached or not"))
    assert again.cached == {"1", "2"} and not again.executed
    assert again.texts() == ["cached or not"]


def test_the_pack_is_imported(comfy):
    assert not re.search(r"IMPORT FAILED.*ComfyUI-Mizuoto", comfy.log())
    assert re.search(r"seconds.*ComfyUI-Mizuoto", comfy.log())


def test_a_failing_node_fails_with_its_message(comfy):
    with pytest.raises(NodeError, match="the reason why") as caught:
        comfy.run(text_prompt("the reason why", "MizuotoTestFail"))
    assert (caught.value.node_id, caught.value.node_type) == ("1", "MizuotoTestFail")
    assert caught.value.exception_type == "ValueError"
    assert "raise ValueError(text)" in caught.value.traceback


def test_an_invalid_prompt_is_refused_with_the_reason(comfy):
    with pytest.raises(HostError, match="Required input is missing"):
        comfy.queue({"1": {"class_type": "PreviewAny", "inputs": {}}})


def test_interrupt_ends_a_running_prompt_and_the_next_one_works(comfy):
    prompt_id = comfy.queue(text_prompt("long", "MizuotoTestWait", seconds=60.0))
    comfy.wait_until_running(prompt_id)
    comfy.interrupt(prompt_id)
    with pytest.raises(InterruptedPromptError):
        comfy.wait(prompt_id)
    assert comfy.run(text_prompt("after the interrupt")).texts() == ["after the interrupt"]


def test_free_drops_the_caches(comfy):
    comfy.run(text_prompt("kept until freed"))
    comfy.free()
    deadline = time.monotonic() + 20
    while comfy.run(text_prompt("kept until freed")).cached:
        assert time.monotonic() < deadline, "the caches are still there"


def test_a_host_that_dies_while_starting_shows_its_log(host_path):
    host = Comfy(host_path, packs={}, arguments=["--no-such-option"])
    with pytest.raises(HostError, match="unrecognized arguments: --no-such-option"):
        host.start()
    assert not host.is_running()


def test_a_busy_port_is_named(host_path, comfy):
    assert not is_port_free(comfy.port)
    with pytest.raises(HostError, match=f"Port {comfy.port} is in use"):
        Comfy(host_path, port=comfy.port).start()


@pytest.fixture
def slow_host(tmp_path):
    """A folder that passes for a ComfyUI which never gets ready; its process notes its id in `pid`."""
    (tmp_path / "main.py").write_text(
        "import os, pathlib, time\n"
        "pathlib.Path(__file__).with_name('pid').write_text(str(os.getpid()))\n"
        "print('still loading', flush=True)\n"
        "time.sleep(600)\n"
    )
    return tmp_path


def assert_ended(pid):
    deadline = time.monotonic() + 20
    with pytest.raises(ProcessLookupError):
        while time.monotonic() < deadline:
            os.kill(pid, 0)
            time.sleep(0.05)


def test_a_start_that_is_given_up_leaves_nothing(slow_host, monkeypatch, tmp_path_factory):
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    precious = slow_host / "pack" / "keep.txt"
    precious.parent.mkdir()
    precious.write_text("kept")
    note = slow_host / "pid"

    class Impatient(Comfy):
        def get(self, path):
            if note.exists() and "still loading" in self.log():
                raise KeyboardInterrupt
            return super().get(path)

    host = Impatient(slow_host, packs={"pack": precious.parent})
    with pytest.raises(KeyboardInterrupt):
        host.start()
    assert_ended(int(note.read_text()))
    assert not list(temporary.iterdir())
    assert precious.read_text() == "kept"
    assert host.log_tail() == "still loading"
    host.stop()


def test_a_host_that_is_not_ready_in_time_is_an_error(slow_host):
    host = Comfy(slow_host)
    with pytest.raises(HostError, match="not ready after 0 s"):
        host.start(timeout_s=0)
    assert not host.is_running()


@pytest.mark.skipif(os.name == "nt", reason="uses POSIX signals")
def test_a_host_ends_with_the_process_that_started_it(slow_host, tmp_path):
    code = (
        "import sys, types\n"
        f"package = types.ModuleType('harness'); package.__path__ = [{str(HERE)!r}]; sys.modules['harness'] = package\n"
        "from pathlib import Path\n"
        "from harness.comfy import Comfy\n"
        f"Comfy(Path({str(slow_host)!r})).start()\n"
    )
    starter = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path)})
    note = slow_host / "pid"
    while not (note.exists() and note.read_text()):
        assert starter.poll() is None
        time.sleep(0.05)
    starter.send_signal(signal.SIGKILL)
    starter.wait()
    assert_ended(int(note.read_text()))
