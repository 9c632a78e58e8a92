"""What the page gets to play and to show: recordings of the voice library, and the outputs of the nodes."""

import io
import json
import shutil
import urllib.parse
import wave

import pytest
from mizuoto.tests.host.comfy import HostError
from mizuoto.tests.host.ear import clip, ear, installed, listen
from mizuoto.tests.host.graphs import node, show, spoken
from mizuoto.tests.host.listener import connected
from mizuoto.tests.host.qwen import BASE, CLIP, CLIPS, said

WORDS = "Words <script>alert(1)</script> of it."


@pytest.fixture(scope="module", autouse=True)
def library(comfy):
    """A folder with a recording, one in a folder, a saved voice, a broken one, a text and a link that leads out."""
    folder = comfy.base / "models" / "voices"
    (folder / "english").mkdir(parents=True, exist_ok=True)
    for name in ("anna.wav", "english/bob.wav"):
        shutil.copy(CLIPS / CLIP, folder / name)
    (folder / "anna.txt").write_text(WORDS, encoding="utf-8")
    (folder / "secret.txt").write_text("Not for the page.", encoding="utf-8")
    (folder / "saved.safetensors").write_bytes(b"whatever")
    (folder / "broken.wav").write_text("<script>alert(1)</script>", encoding="utf-8")
    outside = comfy.base / "outside.wav"
    shutil.copy(CLIPS / CLIP, outside)
    (folder / "linked.wav").symlink_to(outside)
    yield folder
    for name in ("anna.wav", "anna.txt", "secret.txt", "saved.safetensors", "broken.wav", "linked.wav"):
        (folder / name).unlink()
    shutil.rmtree(folder / "english")
    outside.unlink()


def ask(comfy, route, name):
    return comfy.get(f"/mizuoto/voices/{route}?{urllib.parse.urlencode({'name': name})}")


def seconds_of(content):
    with wave.open(io.BytesIO(content)) as file:
        return file.getnframes() / file.getframerate()


def test_a_recording_is_served_as_it_is_and_drawn(comfy, library):
    for name in ("anna.wav", "english/bob.wav"):
        assert ask(comfy, "recording", name) == (library / name).read_bytes()
    told = ask(comfy, "sound", "anna.wav")
    assert told["text"] == WORDS
    assert told["seconds"] == pytest.approx(seconds_of((library / "anna.wav").read_bytes()), abs=0.01)
    assert max(told["peaks"]) > 20 and len(told["peaks"]) >= 80
    assert ask(comfy, "sound", "english/bob.wav")["text"] == ""


def test_a_saved_voice_has_no_sound_and_a_broken_recording_says_so(comfy):
    assert ask(comfy, "sound", "saved") == {}
    with pytest.raises(HostError, match=r"404.*holds no sound"):
        ask(comfy, "recording", "saved")
    with pytest.raises(HostError, match=r"422.*cannot be decoded") as caught:
        ask(comfy, "sound", "broken.wav")
    assert str(comfy.base) not in str(caught.value)


BAD_NAMES = ["../outside.wav", "..", "english/../anna.wav", "/etc/passwd", "linked.wav", "secret.txt", "gone.wav", ""]


@pytest.mark.parametrize("name", [*BAD_NAMES, "anna.wav\0", "english\\bob.wav", "a" * 5000])
@pytest.mark.parametrize("route", ["sound", "recording"])
def test_nothing_but_the_library_is_read(comfy, route, name):
    with pytest.raises(HostError, match=r"404.*There is no voice"):
        ask(comfy, route, name)


def test_a_run_can_be_shown_again(comfy):
    with connected(comfy) as socket:
        run, segments = socket.run(spoken(seed=120))
    assert segments and run.outputs["speak"]["mizuoto_speech"] == [{"segments": segments}]
    assert "mizuoto_speech" not in comfy.run(spoken(seed=121)).outputs["speak"], "nobody was there to listen"


def test_the_reference_of_a_voice_can_be_heard(comfy, qwen_models):
    reference = node("clip", "LoadAudio", audio=CLIP)
    shutil.copy(CLIPS / CLIP, comfy.base / "input")
    voice = node("voice", "MizuotoVoicePrompt", model=["load", 0], audio=["clip", 0], transcript=WORDS)
    with connected(comfy) as socket:
        run, _ = socket.run(said(BASE, reference | voice))
    (sound,) = run.outputs["voice"]["mizuoto_sound"]
    assert sound["text"] == WORDS
    assert seconds_of(comfy.view(sound["file"])) == pytest.approx(sound["seconds"], abs=0.01)


def test_the_library_is_named_by_what_was_loaded(comfy):
    run = comfy.run(node("voice", "MizuotoLoadVoice", name="anna.wav") | show(["voice", 2]))
    assert run.outputs["voice"]["mizuoto_voice"] == ["anna.wav"]


def test_passages_with_their_times_and_the_sound(comfy):
    with installed(comfy), connected(comfy) as socket:
        run, _ = socket.run(clip() | ear() | listen())
    (heard,) = run.outputs["listen"]["mizuoto_transcript"]
    times = [(passage["start"], passage["end"]) for passage in heard["passages"]]
    assert times and all(0 <= start < end <= heard["seconds"] + 0.01 for start, end in times)
    assert " ".join(passage["text"] for passage in heard["passages"]) == run.outputs["listen"]["text"][0]
    assert seconds_of(comfy.view(heard["file"])) == pytest.approx(heard["seconds"], abs=0.01)


def test_the_doctor_in_parts(comfy):
    run = comfy.run(node("doctor", "MizuotoDoctor", self_test=False) | show(["doctor", 1]))
    (told,) = run.outputs["doctor"]["mizuoto_doctor"]
    report = json.loads(run.outputs["show"]["text"][0])
    assert told["level"] == report["level"]
    for part in told["sections"]:
        assert part["findings"] == report["sections"][part["name"]]["findings"]
        assert all(isinstance(line, str) for line in part["facts"])
    assert any(line.startswith("python: ") for part in told["sections"] for line in part["facts"])
