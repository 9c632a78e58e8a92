"""The voice library in a real ComfyUI: saved voices speak as before, and no name leads out of its folder."""

import shutil

import numpy as np
import pytest
from mizuoto.tests.host.comfy import HostError
from mizuoto.tests.host.graphs import load, node, sound
from mizuoto.tests.host.qwen import BASE, DESIGN, PRESETS, WORDS, clone, design, heard, preset, refusal, said

pytestmark = pytest.mark.usefixtures("qwen_models")


def keep(name):
    return node("keep", "MizuotoSaveVoice", voice=["voice", 0], name=name)


def kept(name):
    return node("voice", "MizuotoLoadVoice", name=name)


def names_of(run):
    return [text.removeprefix("Saved as ") for text in run.outputs["keep"]["text"]]


@pytest.mark.parametrize(
    ("model", "voice"),
    [(BASE, clone()), (BASE, clone(transcript=WORDS)), (PRESETS, preset("Eric")), (DESIGN, design("Like a bell."))],
    ids=["timbre", "transcript", "preset", "design"],
)
def test_a_saved_voice_speaks_as_before(comfy, model, voice, request):
    name = f"Größe 声 {request.node.callspec.id}"
    run = comfy.run(said(model, voice) | keep(name))
    assert names_of(run) == [name]
    again = comfy.run(said(model, kept(name)))
    assert "speak" in again.executed
    assert np.array_equal(sound(comfy, again), sound(comfy, run))
    info = comfy.get("/object_info/MizuotoLoadVoice")["MizuotoLoadVoice"]["input"]["required"]["name"]
    assert name in (info[0] if isinstance(info[0], list) else info[1]["options"])


def test_another_voice_of_the_same_name_gets_a_number_and_the_first_stays(comfy):
    runs = [comfy.run(said(BASE, clone(**inputs)) | keep("twice")) for inputs in ({}, {"transcript": WORDS})]
    assert [names_of(run) for run in runs] == [["twice"], ["twice_2"]]
    assert np.array_equal(heard(comfy, said(BASE, kept("twice"))), sound(comfy, runs[0]))
    assert np.array_equal(heard(comfy, said(BASE, kept("twice_2"))), sound(comfy, runs[1]))


def test_a_replaced_voice_is_loaded_again(comfy):
    comfy.run(said(PRESETS, preset("Eric")) | keep("replaced"))
    before = heard(comfy, said(PRESETS, kept("replaced")))
    folder = comfy.base / "models" / "voices"
    comfy.run(said(PRESETS, preset("Dylan")) | keep("the new one"))
    (folder / "the new one.safetensors").replace(folder / "replaced.safetensors")
    assert not np.array_equal(heard(comfy, said(PRESETS, kept("replaced"))), before)


BAD_NAMES = ["../../evil", "..", "/etc/evil", "C:\\evil", "a/b", "a\\b", ".hidden", "", "con", "a\0b", "声" * 99]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_no_name_leaves_the_library(comfy, name):
    before = sorted(path for path in (comfy.base).rglob("*.safetensors"))
    prompt = load(PRESETS) | preset("Eric") | keep(name)
    assert "cannot be the name of a voice" in refusal(comfy, prompt, "keep")
    assert sorted(path for path in (comfy.base).rglob("*.safetensors")) == before


@pytest.mark.parametrize("name", [f"../tts/{PRESETS}/model", "../../models/voices/x", "/etc/passwd", "gone", 5])
def test_no_name_but_that_of_a_saved_voice_is_read(comfy, name):
    with pytest.raises(HostError, match="There is no voice"):
        comfy.run(said(PRESETS, kept(name)))


def test_a_damaged_and_a_foreign_voice_file_say_so(comfy):
    folder = comfy.base / "models" / "voices"
    (folder / "damaged.safetensors").write_bytes(b"nothing of the kind")
    with pytest.raises(HostError, match="cannot be read"):
        comfy.run(said(PRESETS, kept("damaged")))
    shutil.copy(comfy.base / "models" / "tts" / PRESETS / "model.safetensors", folder / "weights.safetensors")
    with pytest.raises(HostError, match="is no voice file of this pack"):
        comfy.run(said(PRESETS, kept("weights")))
