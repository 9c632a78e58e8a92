"""A model fetched by Load Model in a real ComfyUI, from a hub on this machine."""

import time

import pytest
from mizuoto.tests.host.comfy import HostError, InterruptedPromptError, NodeError
from mizuoto.tests.host.conftest import PACKS
from mizuoto.tests.host.fake_hub import FakeHub
from mizuoto.tests.host.graphs import load, save, sound, speak
from mizuoto.tests.host.offer import CHOICE, NAME, REPO, SIZE, WEIGHTS, files, online, pack


@pytest.fixture(scope="module")
def hub():
    with FakeHub({REPO: files()}) as server:
        yield server


@pytest.fixture
def offering(hub, start_comfy, tmp_path):
    hub.requests.clear(), hub.sent_bytes.clear()
    hub.rate_bytes = 0
    packs = PACKS | pack(tmp_path / "offer")
    return lambda **env: start_comfy("--cpu", packs=packs, env=online(hub.url) | env)


def choices(comfy):
    info = comfy.get("/object_info/MizuotoLoadModel")["MizuotoLoadModel"]["input"]["required"]["model"]
    return info[0] if isinstance(info[0], list) else info[1]["options"]


def graph(model):
    return load(model) | speak("Hello.", seed=7) | save(["speak", 0])


def test_nothing_is_asked_before_the_choice_and_the_chosen_model_speaks(hub, offering):  # P84, P85
    comfy = offering()
    assert CHOICE in choices(comfy) and NAME not in choices(comfy)
    with pytest.raises(HostError, match=rf"choose \\\"{NAME} \(download\)\\\" to fetch it \(0\.0 GB, licence Apache-2"):
        comfy.run(graph(NAME))
    with pytest.raises(NodeError, match="not usable"):  # before four gigabytes are fetched for nothing
        comfy.run(load(CHOICE, device="cuda:7") | speak("Hello.") | save(["speak", 0]))
    assert not hub.requests

    hub.rate_bytes = 4_000_000
    waiting = comfy.queue(graph(CHOICE))
    give_up = time.monotonic() + 60
    while hub.sent_bytes.get(WEIGHTS, 0) < 2_000_000:
        assert time.monotonic() < give_up, comfy.log_tail()
        time.sleep(0.02)
    begin = time.monotonic()
    comfy.interrupt(waiting)
    with pytest.raises(InterruptedPromptError):
        comfy.wait(waiting)
    assert time.monotonic() - begin < 2
    assert not (comfy.base / "models" / "tts" / NAME).exists()

    time.sleep(0.5)  # the stopped job hangs up; a faster server would fill the socket first
    hub.rate_bytes = 0
    assert sound(comfy, comfy.run(graph(CHOICE))).size > 1000
    assert sorted(path.name for path in (comfy.base / "models" / "tts" / NAME).iterdir()) == ["config.json", WEIGHTS]
    assert hub.sent_bytes[WEIGHTS] < SIZE + 1_000_000  # what was there was kept

    asked = len(hub.requests)
    assert NAME in choices(comfy) and CHOICE not in choices(comfy)
    for name in (NAME, CHOICE):
        assert sound(comfy, comfy.run(graph(name))).size > 1000
    assert len(hub.requests) == asked

    (comfy.base / "models" / "tts" / NAME / WEIGHTS).unlink()
    time.sleep(2.1)  # the list of folders is kept for two seconds
    with pytest.raises(NodeError, match=rf'"models/tts/{NAME}" is there but holds no complete hibari model; move it'):
        comfy.run(graph(CHOICE))


def test_offline_says_so(hub, offering):
    comfy = offering(HF_HUB_OFFLINE="1")
    with pytest.raises(NodeError, match="Nothing is downloaded because HF_HUB_OFFLINE") as caught:
        comfy.run(graph(CHOICE))
    assert caught.value.node_id == "load" and not hub.requests
