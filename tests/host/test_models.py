"""Model folders in a real ComfyUI: found, listed, and refused with a sentence when they are broken."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest
from mizuoto.tests.host.comfy import HostError, NodeError
from mizuoto.tests.host.graphs import load, save, sound, speak

ASSETS = Path(__file__).resolve().parents[2] / "engines" / "hibari" / "assets"
WEIGHTS = "hibari_heart.f16.safetensors"


@pytest.fixture
def folder(comfy):
    made = []

    def make(name, content=None):
        path = comfy.base / "models" / name
        path.mkdir(parents=True)
        made.append(path)
        target = path / WEIGHTS
        target.write_bytes(content) if content is not None else shutil.copy(ASSETS / WEIGHTS, target)
        time.sleep(2.1)  # the list of folders is kept for two seconds
        return path

    yield make
    for path in made:
        shutil.rmtree(path)
    time.sleep(2.1)


def choices(comfy):
    info = comfy.get("/object_info/MizuotoLoadModel")["MizuotoLoadModel"]["input"]["required"]["model"]
    return info[0] if isinstance(info[0], list) else info[1]["options"]


def say(comfy, model):
    return comfy.run(load(model) | speak("Hello.", seed=7) | save(["speak", 0]))


@pytest.mark.parametrize("place", ["tts/模型 Ünïcode #1", "TTS/hibari/nested", "tts/with.dots"])
def test_a_dropped_folder_is_listed_without_a_restart_and_speaks(comfy, folder, place):  # P80, P83, P85
    folder(place)
    name = place.partition("/")[2]
    assert name in choices(comfy)
    assert sound(comfy, say(comfy, name)).size > 1000


def test_a_replaced_file_is_loaded_again(comfy, folder):
    path = folder("tts/replaced")
    say(comfy, "replaced")
    assert "load" in say(comfy, "replaced").cached
    os.utime(path / WEIGHTS, ns=(0, 0))
    assert "load" in say(comfy, "replaced").executed


def test_an_unknown_model_says_where_it_was_looked_for(comfy):
    with pytest.raises(
        HostError, match=r'Model \\"gone\\" is not installed: no such folder in .*tts.*hibari \(built-in\)'
    ):
        say(comfy, "gone")


@pytest.mark.parametrize("name", ["../../outside", "/etc", "a\\..\\b", "C:\\x", "a\0b"])
def test_no_name_leaves_the_folders(comfy, name):
    with pytest.raises(HostError, match="is not installed"):
        say(comfy, name)


def test_a_truncated_file_says_so(comfy, folder):
    folder("tts/truncated", (ASSETS / WEIGHTS).read_bytes()[:100_000])
    with pytest.raises(
        NodeError, match=r"is cut off: 100,000 of at least [\d,]+ bytes are there\. Copy or download it again"
    ) as caught:
        say(comfy, "truncated")
    assert caught.value.node_id == "load"


def test_another_architecture_is_named(comfy, folder):
    header = json.dumps({"wte.weight": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    folder("tts/other", len(header).to_bytes(8, "little") + header + bytes(4))
    with pytest.raises(NodeError, match=r'is no hibari voice: it has a tensor "wte\.weight"'):
        say(comfy, "other")


def test_a_checkpoint_with_a_tensor_missing_names_it(comfy, folder, tmp_path):
    from safetensors.torch import load_file, save_file

    tensors = load_file(ASSETS / WEIGHTS)
    del tensors["pn.text.emb.weight"]
    save_file(tensors, tmp_path / "part.safetensors")
    folder("tts/part", (tmp_path / "part.safetensors").read_bytes())
    with pytest.raises(NodeError, match=r'does not fit Talker: "text\.embedding\.weight" is missing'):
        say(comfy, "part")


def test_a_file_that_vanishes_after_listing(comfy, folder):
    path = folder("tts/vanishing")
    assert "vanishing" in choices(comfy)
    (path / WEIGHTS).unlink()
    with pytest.raises((NodeError, HostError), match=r"no file called hibari_|is not installed"):
        say(comfy, "vanishing")


def test_a_device_that_is_not_there(comfy):
    with pytest.raises(NodeError, match=r'Device "cuda:7" is not usable on this machine; choose one of: cpu'):
        comfy.run(load(device="cuda:7") | speak("Hello.") | save(["speak", 0]))


@pytest.mark.parametrize("device", [5, {"index": 0}, True])
def test_a_device_that_is_no_name(comfy, device):
    with pytest.raises(NodeError, match=r"is no device name; use auto, cpu, mps, cuda:0 or xpu:0"):
        comfy.run(load(device=device) | speak("Hello.") | save(["speak", 0]))


@pytest.mark.parametrize("model", [5, {"name": "x"}])
def test_a_model_that_is_no_name(comfy, model):
    with pytest.raises(HostError, match="is not installed"):
        say(comfy, model)


def test_a_dtype_the_engine_lacks_names_the_engine(comfy):
    with pytest.raises(NodeError, match=r'Engine "hibari" does not run in fp16; choose dtype "auto" or .*fp32'):
        comfy.run(load(dtype="fp16") | speak("Hello.") | save(["speak", 0]))
