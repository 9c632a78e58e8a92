"""Downloads by the page's routes in a real ComfyUI, from a hub on this machine."""

import shutil

import pytest
from mizuoto.tests.host.comfy import Comfy, HostError
from mizuoto.tests.host.conftest import PACKS
from mizuoto.tests.host.fake_hub import FakeHub
from mizuoto.tests.host.graphs import load, save, sound, speak
from mizuoto.tests.host.listener import connected
from mizuoto.tests.host.offer import CHOICE, NAME, REPO, SIZE, WEIGHTS, files, online, pack

MB = 1 << 20
EVENT = "mizuoto.download"


@pytest.fixture(scope="module")
def hub():
    with FakeHub({REPO: files()}) as server:
        yield server


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """What lies here outlives a ComfyUI."""
    folder = tmp_path_factory.mktemp("downloads")
    (folder / "models").mkdir()
    return folder


@pytest.fixture(scope="module")
def comfy(hub, root, host_path):
    """One that each test leaves as it found it; the last one stops it."""
    with Comfy(host_path, arguments=["--cpu"], **options(hub, root)) as running:
        yield running


def options(hub, root, **env):
    return {
        "packs": PACKS | pack(root / "offer"),
        "links": {"models": root / "models"},
        "env": online(hub.url) | env,
    }


def entry(comfy):
    (found,) = [model for model in comfy.get("/mizuoto/models")["models"] if model["name"] == NAME]
    return found


def act(comfy, action, name=NAME):
    return comfy.post(f"/mizuoto/downloads/{name}/{action}")


def refused(comfy, path, status, match, body=None):
    with pytest.raises(HostError, match=f": {status}: .*{match}"):
        comfy.post(path, body)


def begins(hub):
    """Where each request for the weights began."""
    return [each.start or 0 for each in hub.requests if each.path == f"/stored/{REPO}/{WEIGHTS}"]


def left_behind(root):
    return sorted(path.name for path in (root / "models" / "tts").iterdir())


def wait_for(socket, state, done_bytes=0):
    return socket.until(EVENT, lambda told: told["state"] == state and told["done_bytes"] >= done_bytes)


def test_a_download_is_started_paused_resumed_cut_joined_and_done(hub, comfy, root):  # P84, P85
    models = comfy.get("/mizuoto/models")["models"]
    assert [model["installed"] for model in models if model["name"] == "hibari (built-in)"] == ["hibari (built-in)"]
    assert entry(comfy) == {
        "name": NAME,
        "choice": CHOICE,
        "installed": "",
        "engine": "hibari",
        "weights_license": "Apache-2.0",
        "code_license": "Apache-2.0",
        "is_commercial": True,
        "size_bytes": SIZE,
        "folder": f"models/tts/{NAME}",
        "sources": [{"name": REPO, "url": f"https://huggingface.co/{REPO}"}],
        "job": None,
    }
    refused(comfy, f"/mizuoto/downloads/{NAME}/pause", 409, "not being downloaded")
    assert not hub.requests

    with connected(comfy) as socket:
        hub.hold(WEIGHTS, 2 * MB)
        hub.cut_after[WEIGHTS] = 6 * MB
        assert comfy.post("/mizuoto/downloads", {"model": NAME})["state"] == "running"
        assert act(comfy, "start")["state"] == "running"
        told = wait_for(socket, "running", 2 * MB)
        assert 2 * MB <= told["done_bytes"] < 3 * MB < told["total_bytes"]
        assert act(comfy, "pause")["state"] == entry(comfy)["job"]["state"] == "paused"
        wait_for(socket, "paused", 2 * MB)

        hub.hold(WEIGHTS, 4 * MB)
        hub.cut_after[WEIGHTS] = 6 * MB
        assert act(comfy, "resume")["state"] == "running"
        wait_for(socket, "running", 4 * MB)
        speaking = comfy.queue(load(CHOICE) | speak("Hello.") | save(["speak", 0]))
        comfy.wait_until_running(speaking)
        hub.release()
        assert sound(comfy, comfy.wait(speaking)).size > 1000
        assert wait_for(socket, "done")["installed"] == NAME
    first, *further = begins(hub)
    assert first == 0 and 2 * MB <= further[0] < 4 * MB and further[-1] == 6 * MB  # nothing came twice
    assert further == sorted(further)
    assert left_behind(root) == [NAME]
    found = entry(comfy)
    assert (found["installed"], found["job"], found["size_bytes"]) == (NAME, None, SIZE + 2)
    assert act(comfy, "start")["state"] == "done" and begins(hub) == [first, *further]
    shutil.rmtree(root / "models" / "tts" / NAME)
    hub.requests.clear()


def test_what_goes_wrong_is_told_and_nothing_is_left(hub, comfy, root, start_comfy):
    for name in ("no-such", "..%2F..%2Fx", f"..%2F{NAME}", "%2Fetc", "%3Cscript%3E", "hibari%20(built-in)"):
        refused(comfy, f"/mizuoto/downloads/{name}/start", 404, "No model .* can be downloaded")
    refused(comfy, f"/mizuoto/downloads/{NAME}/explode", 404, "it knows: start, pause, resume, cancel")
    for body in ([1], {}, {"model": NAME, "folder": "/"}, {"folder": NAME}):
        refused(comfy, "/mizuoto/downloads", 400, "send", body)
    for name in (5, None, [NAME], "../x", f"{NAME}/../{NAME}"):
        refused(comfy, "/mizuoto/downloads", 404, "can be downloaded", {"model": name})
    refused(comfy, "/mizuoto/downloads", 413, "longer than", {"model": "x" * 100_000})
    (root / "models" / "tts" / NAME).mkdir()
    refused(comfy, f"/mizuoto/downloads/{NAME}/start", 409, "is there but holds no complete")
    (root / "models" / "tts" / NAME).rmdir()
    assert not hub.requests and left_behind(root) == []

    hub.lies[WEIGHTS] = bytes(SIZE)
    with connected(comfy) as socket:
        act(comfy, "start")
        failed = wait_for(socket, "failed")
        assert f'"{WEIGHTS}" came with a wrong checksum and was deleted' in failed["error"]
        number = failed.pop("number")
        assert entry(comfy)["job"] == failed and comfy.get("/mizuoto/models")["number"] == number
        assert not list((root / "models" / "tts").rglob(WEIGHTS))
        assert act(comfy, "cancel")["state"] == "cancelled"
        assert entry(comfy)["job"] is None and left_behind(root) == []

        hub.lies.clear()
        hub.hold(WEIGHTS, 2 * MB)
        act(comfy, "start")
        wait_for(socket, "running", 2 * MB)
        act(comfy, "pause")
    comfy.stop()

    offline = start_comfy("--cpu", **options(hub, root, HF_HUB_OFFLINE="1"))  # what a restart finds is still there
    job = entry(offline)["job"]
    assert job["state"] == "paused" and job["done_bytes"] >= 2 * MB
    refused(offline, f"/mizuoto/downloads/{NAME}/resume", 409, "Nothing is downloaded because HF_HUB_OFFLINE")
    assert act(offline, "cancel")["state"] == "cancelled" and left_behind(root) == []
