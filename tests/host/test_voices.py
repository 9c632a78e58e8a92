"""The voice library in a real ComfyUI: saved voices speak as before, and no name leads out of its folder."""

import io
import shutil
import wave

import numpy as np
import pytest
from mizuoto.tests.host.comfy import HostError
from mizuoto.tests.host.graphs import MODEL, load, node, save, show, sound, speak
from mizuoto.tests.host.qwen import (
    BASE,
    CLIP,
    CLIPS,
    DESIGN,
    PRESETS,
    WORDS,
    clip,
    clone,
    design,
    heard,
    preset,
    refusal,
    said,
)

pytestmark = pytest.mark.usefixtures("qwen_models")


def keep(name):
    return node("keep", "MizuotoSaveVoice", voice=["voice", 0], name=name)


def kept(name, **inputs):
    return node("voice", "MizuotoLoadVoice", name=name, **inputs)


def listed(comfy):
    """The names that Load Voice offers."""
    names = comfy.get("/object_info/MizuotoLoadVoice")["MizuotoLoadVoice"]["input"]["required"]["name"]
    return names[0] if isinstance(names[0], list) else names[1]["options"]


def wav_of_zeros(seconds, rate=16000):
    content = io.BytesIO()
    with wave.open(content, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(bytes(2 * rate * seconds))
    return content.getvalue()


def put(comfy, name, words=None):
    """A copy of the test clip in the library, as other packs would keep it."""
    file = comfy.base / "models" / "voices" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(CLIPS / CLIP, file)
    if words is not None:
        file.with_suffix(".txt").write_text(words, encoding="utf-8")
    return file


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
    assert name in listed(comfy)


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
    assert '"damaged.safetensors" cannot be read' in refusal(comfy, said(PRESETS, kept("damaged")), "voice")
    shutil.copy(comfy.base / "models" / "tts" / PRESETS / "model.safetensors", folder / "weights.safetensors")
    assert "is no voice file of this pack" in refusal(comfy, said(PRESETS, kept("weights")), "voice")


def test_a_recording_speaks_as_through_voice_prompt(comfy):
    name = "模型/Ünïcode dir/ё #1 🎙.wav"  # P80
    put(comfy, name, WORDS)
    assert name in listed(comfy)
    library = kept(name, model=["load", 0])
    run = comfy.run(said(BASE, library) | save(["voice", 1], "copy") | show(["voice", 2]))
    assert np.array_equal(sound(comfy, run), heard(comfy, said(BASE, clone(transcript=WORDS))))
    original = comfy.run(clip() | save(["clip", 0]))
    assert np.array_equal(sound(comfy, run, "copy"), sound(comfy, original))
    assert run.texts() == [WORDS]
    put(comfy, "no words.wav")
    wordless = heard(comfy, said(BASE, kept("no words.wav", model=["load", 0])))
    assert np.array_equal(wordless, heard(comfy, said(BASE, clone())))


def test_new_words_make_a_new_voice(comfy):  # P76
    put(comfy, "words.wav", WORDS)
    prompt = said(BASE, kept("words.wav", model=["load", 0])) | show(["voice", 2])
    before = comfy.run(prompt)
    put(comfy, "words.wav", "he was not")
    after = comfy.run(prompt)
    assert (before.texts(), after.texts()) == ([WORDS], ["he was not"])
    assert not np.array_equal(sound(comfy, before), sound(comfy, after))


def test_a_recording_without_a_model_is_still_a_recording(comfy):
    put(comfy, "plain.wav", WORDS)
    sentence = refusal(comfy, said(BASE, kept("plain.wav")), "voice")
    assert '"plain.wav" is a recording, and only a model makes a voice of it; connect "model".' in sentence
    run = comfy.run(kept("plain.wav") | save(["voice", 1]) | show(["voice", 2]))
    assert len(sound(comfy, run)) and run.texts() == [WORDS]
    # Now the recording is in the cache, and the voice that it is not stops whoever takes it.
    later = comfy.run(said(BASE, kept("plain.wav")))
    assert "voice" in later.cached and "save" not in later.outputs


def test_a_saved_voice_has_words_but_no_sound(comfy):
    comfy.run(load(BASE) | clone(transcript=WORDS) | keep("with words"))
    sentence = refusal(comfy, kept("with words") | save(["voice", 1]), "voice")
    assert '"with words.safetensors" is a saved voice, which holds no sound' in sentence
    assert comfy.run(kept("with words") | show(["voice", 2])).texts() == [WORDS]


def test_the_model_of_a_saved_voice_is_checked(comfy):
    comfy.run(said(PRESETS, preset("Eric")) | keep("checked"))
    comfy.run(said(PRESETS, kept("checked", model=["load", 0])))
    other = load(MODEL) | kept("checked", model=["load", 0]) | show(["voice", 2])
    assert 'The voice came from engine "qwen3_tts" but the model is "hibari"' in refusal(comfy, other, "voice")
    assert "connect a Load Speech Model node" in refusal(
        comfy, kept("checked", model="x") | show(["voice", 2]), "voice"
    )


def test_what_cannot_be_cloned_from_says_so(comfy):
    folder = comfy.base / "models" / "voices"
    put(comfy, "any.wav")
    speaker = load(MODEL) | kept("any.wav", model=["load", 0]) | speak(voice=["voice", 0]) | save(["speak", 0])
    assert "clones no voices" in refusal(comfy, speaker, "voice")
    (folder / "text.wav").write_text("I am a text.", encoding="ascii")
    put(comfy, "encoding.wav").with_suffix(".txt").write_bytes("Mädchen".encode("latin-1"))
    (folder / "long.wav").write_bytes(wav_of_zeros(seconds=70))
    for name, sentence in {
        "text.wav": '"text.wav" cannot be decoded',
        "encoding.wav": 'The encoding of "encoding.txt" is unknown; save it as UTF-8.',
        "long.wav": '"long.wav" is longer than 60 s',
    }.items():
        message = refusal(comfy, said(BASE, kept(name, model=["load", 0])), "voice")
        assert sentence in message and str(comfy.base) not in message
