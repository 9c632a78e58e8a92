"""The voice library: names stay inside their folder, nothing that is saved is lost, and recordings are listed."""

import os
import sys
import types
from importlib import import_module

import pytest
import torch
from mizuoto.engines.artifacts import VoicePrompt
from mizuoto.mizuoto_runtime.errors import InvalidRequest, ModelFileError

VOICE = VoicePrompt("dummy", "clone", {"x": torch.arange(4)}, {"transcript": "Hi."})


@pytest.fixture
def library(packages_without_comfyui, monkeypatch, tmp_path):
    """The module above a ComfyUI with two voice folders, `voices` and `more`."""
    stub = types.ModuleType("folder_paths")
    stub.models_dir = str(tmp_path)
    (tmp_path / "more").mkdir()
    paths = [str(tmp_path / "more")]
    stub.add_model_folder_path = lambda key, path, is_default=False: paths.insert(0, path)
    stub.get_folder_paths = lambda key: list(paths)
    stub.get_user_directory = lambda: str(tmp_path / "user")
    monkeypatch.setitem(sys.modules, "folder_paths", stub)
    module = import_module("mizuoto.nodes.host.voices")
    module.register_voices()
    return module


def loaded(library, name):
    return VoicePrompt.load(library.find_voice(name).path)


def put(folder, *names):
    """Files of those names, whatever is in them."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")


def link(place, target):
    try:
        place.symlink_to(target, target_is_directory=target.is_dir())
    except OSError:
        pytest.skip("no right to make links here")


def test_a_voice_comes_back(library, tmp_path):
    assert library.save_voice(VOICE, "Größe 声") == "Größe 声"
    read = loaded(library, "Größe 声")
    assert (read.engine, read.name, read.facts) == ("dummy", "clone", VOICE.facts)
    assert torch.equal(read.tensors["x"], VOICE.tensors["x"])
    assert [path.name for path in (tmp_path / "voices").iterdir()] == ["Größe 声.safetensors"]


def test_another_voice_of_the_same_name_gets_a_number(library):
    other = VoicePrompt("dummy", "clone", {"x": torch.arange(5)})
    assert [library.save_voice(voice, "Ann") for voice in (VOICE, VOICE, other, VOICE)] == [
        "Ann",
        "Ann",
        "Ann_2",
        "Ann",
    ]
    assert list(library.voice_files()) == ["Ann", "Ann_2"]


def test_a_preset_keeps_its_own_name_and_does_not_replace_another(library):
    eric, dylan = VoicePrompt("dummy", "Eric"), VoicePrompt("dummy", "Dylan")
    assert [library.save_voice(voice, "mine") for voice in (eric, dylan)] == ["mine", "mine_2"]
    assert [loaded(library, name).name for name in ("mine", "mine_2")] == ["Eric", "Dylan"]


def test_every_folder_is_searched_the_default_first(library, tmp_path):
    VOICE.save(tmp_path / "more" / "Bea.safetensors")
    VOICE.save(tmp_path / "more" / "Ann.safetensors")
    library.save_voice(VOICE, "Ann")
    found = library.voice_files()
    assert found["Ann"].path.parent == tmp_path / "voices"
    assert found["Bea"].path.parent == tmp_path / "more"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "../x",
        "a/b",
        "a\\b",
        "C:\\x",
        "/etc/x",
        "a\0b",
        "CON",
        "nul.txt",
        "../../custom_nodes/x/__init__",
        "x" * 101,
        "x" * 300,
        "声" * 100,
        "\ud800",
        ".hidden",
        "dot.",
        "a\nb",
        "a?",
    ],
)
def test_names_that_lead_elsewhere_are_refused(library, tmp_path, name):  # S1
    with pytest.raises(InvalidRequest, match="cannot be the name of a voice"):
        library.save_voice(VOICE, name)
    with pytest.raises(InvalidRequest, match="no voice"):
        loaded(library, name)
    assert list((tmp_path / "voices").iterdir()) == []


def test_an_unknown_voice_is_named_with_its_neighbour(library):
    library.save_voice(VOICE, "Grandma")
    with pytest.raises(InvalidRequest, match=r'no voice "Gramdma".*Did you mean "Grandma"'):
        loaded(library, "Gramdma")


def test_a_pickle_under_the_right_name_is_refused(library, tmp_path):  # S2
    torch.save({"x": torch.ones(1)}, tmp_path / "voices" / "bad.safetensors")
    with pytest.raises(ModelFileError, match="bad"):
        loaded(library, "bad")


def test_the_fingerprint_follows_the_file(library):
    assert library.fingerprint("Ann") == ""
    library.save_voice(VOICE, "Ann")
    assert library.fingerprint("Ann") == library.fingerprint("Ann") != ""


def test_a_folder_that_cannot_be_written_says_so(library, tmp_path):
    (tmp_path / "voices").rmdir()
    (tmp_path / "voices").write_text("in the way", encoding="ascii")
    with pytest.raises(ModelFileError, match=r"/voices\" cannot be written .*look at its rights"):
        library.save_voice(VOICE, "Ann")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_a_saved_voice_has_the_mode_of_any_other_file(library, tmp_path):
    (tmp_path / "any").touch()
    library.save_voice(VOICE, "Ann")
    assert (tmp_path / "voices" / "Ann.safetensors").stat().st_mode == (tmp_path / "any").stat().st_mode


def test_recordings_are_listed_with_and_without_words_in_folders_too(library, tmp_path):
    names = ["Ünï code 模型/ё #1 🎙.wav", "a.MP3", "a.flac", "b.ogg", "b.m4a", "b.opus", "deep/er/c.wav"]
    put(tmp_path / "voices", *names, "deep/er/too/far.wav", ".hidden/x.wav", ".x.wav", "a.txt", "a.png", "c.pt")
    put(tmp_path / "more", "english/anna.wav", "a.flac")
    library.save_voice(VOICE, "a")
    found = library.voice_files()
    assert set(found) == {"a", *names, "english/anna.wav"}
    assert list(found) == sorted(found, key=str.casefold)
    assert [name for name in found if not found[name].is_recording] == ["a"]
    assert found["a.flac"].path == tmp_path / "voices" / "a.flac"
    assert found["a.flac"].words == found["a.MP3"].words == tmp_path / "voices" / "a.txt"
    assert found["b.ogg"].words is None and found["b.ogg"].transcript() == ""


def test_reference_text_wins(library, tmp_path):
    put(tmp_path / "voices", "en/a.wav", "en/a.txt", "en/a.reference.txt", "b.wav", "en/b.txt")
    (tmp_path / "voices" / "en" / "a.reference.txt").write_text("Hi.", encoding="utf-8")
    assert library.find_voice("en/a.wav").transcript() == "Hi."
    assert library.find_voice("b.wav").words is None


def test_a_saved_voice_keeps_its_name_beside_a_recording_of_the_same(library, tmp_path):
    put(tmp_path / "voices", "a.wav", "en/a.wav")
    VOICE.save(tmp_path / "voices" / "a.wav.safetensors")
    VOICE.save(tmp_path / "voices" / "en" / "b.safetensors")
    assert not library.find_voice("a.wav").is_recording
    assert loaded(library, "en/b").engine == "dummy"


def test_new_files_are_listed_at_once(library, tmp_path):
    assert library.voice_files() == {}
    put(tmp_path / "voices", "a.wav")
    assert list(library.voice_files()) == ["a.wav"]


def test_links_that_leave_the_folder_are_passed_over(library, tmp_path):  # S1
    put(tmp_path / "outside", "secret.wav", "secret.txt", "far/x.wav")
    put(tmp_path / "voices", "a.wav", "in/b.wav")
    link(tmp_path / "voices" / "secret.wav", tmp_path / "outside" / "secret.wav")
    link(tmp_path / "voices" / "a.txt", tmp_path / "outside" / "secret.txt")
    link(tmp_path / "voices" / "far", tmp_path / "outside" / "far")
    link(tmp_path / "voices" / "in" / "round", tmp_path / "voices")
    link(tmp_path / "voices" / "gone.wav", tmp_path / "gone.wav")
    found = library.voice_files()
    assert set(found) == {"a.wav", "in/b.wav", "in/round/a.wav"}
    assert found["a.wav"].words is None
    with pytest.raises(InvalidRequest, match="no voice"):
        library.find_voice("secret.wav")


def test_a_root_that_is_a_link_is_no_way_out(library, tmp_path):
    (tmp_path / "voices").rmdir()
    put(tmp_path / "elsewhere", "a.wav", "a.txt")
    link(tmp_path / "voices", tmp_path / "elsewhere")
    assert library.find_voice("a.wav").words is not None


@pytest.mark.parametrize("name", ["../outside/x.wav", "en/../a.wav", "en\\a.wav", "/a.wav", "a.wav\0", "./a.wav", "a"])
def test_only_listed_names_are_read(library, tmp_path, name):  # S1
    put(tmp_path, "voices/a.wav", "voices/en/a.wav", "outside/x.wav")
    with pytest.raises(InvalidRequest, match="no voice"):
        library.find_voice(name)


@pytest.mark.parametrize("changed", ["a.wav", "a.txt", "a.reference.txt"])
def test_the_fingerprint_of_a_recording_follows_its_words_too(library, tmp_path, changed):  # P76
    put(tmp_path / "voices", "a.wav", "a.txt")
    before = library.fingerprint("a.wav")
    assert before == library.fingerprint("a.wav") != ""
    (tmp_path / "voices" / changed).write_bytes(b"other")
    assert library.fingerprint("a.wav") != before
    (tmp_path / "voices" / "a.txt").unlink()
    assert library.fingerprint("a.wav") != before


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have names in Unicode only")
def test_a_name_that_is_no_text_is_passed_over(library, tmp_path):
    put(tmp_path / "voices", "a.wav")
    (tmp_path / "voices" / os.fsdecode(b"caf\xe9.wav")).write_bytes(b"x")
    assert list(library.voice_files()) == ["a.wav"]
