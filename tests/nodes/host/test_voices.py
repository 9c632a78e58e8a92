"""The voice library: names stay inside their folder, and nothing that is saved is lost."""

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
    monkeypatch.setitem(sys.modules, "folder_paths", stub)
    module = import_module("mizuoto.nodes.host.voices")
    module.register_voices()
    return module


def test_a_voice_comes_back(library, tmp_path):
    assert library.save_voice(VOICE, "Größe 声") == "Größe 声"
    read = library.load_voice("Größe 声")
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
    assert list(library.saved_voices()) == ["Ann", "Ann_2"]


def test_a_preset_keeps_its_own_name_and_does_not_replace_another(library):
    eric, dylan = VoicePrompt("dummy", "Eric"), VoicePrompt("dummy", "Dylan")
    assert [library.save_voice(voice, "mine") for voice in (eric, dylan)] == ["mine", "mine_2"]
    assert [library.load_voice(name).name for name in ("mine", "mine_2")] == ["Eric", "Dylan"]


def test_every_folder_is_searched_the_default_first(library, tmp_path):
    VOICE.save(tmp_path / "more" / "Bea.safetensors")
    VOICE.save(tmp_path / "more" / "Ann.safetensors")
    library.save_voice(VOICE, "Ann")
    found = library.saved_voices()
    assert found["Ann"].parent == tmp_path / "voices"
    assert found["Bea"].parent == tmp_path / "more"


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
        "x" * 101,
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
        library.load_voice(name)
    assert list((tmp_path / "voices").iterdir()) == []


def test_an_unknown_voice_is_named_with_its_neighbour(library):
    library.save_voice(VOICE, "Grandma")
    with pytest.raises(InvalidRequest, match=r'no voice "Gramdma".*Did you mean "Grandma"'):
        library.load_voice("Gramdma")


def test_a_pickle_under_the_right_name_is_refused(library, tmp_path):  # S2
    torch.save({"x": torch.ones(1)}, tmp_path / "voices" / "bad.safetensors")
    with pytest.raises(ModelFileError, match="bad"):
        library.load_voice("bad")


def test_the_fingerprint_follows_the_file(library):
    assert library.fingerprint("Ann") == ""
    library.save_voice(VOICE, "Ann")
    assert library.fingerprint("Ann") == library.fingerprint("Ann") != ""


def test_a_folder_that_cannot_be_written_says_so(library, tmp_path):
    (tmp_path / "voices").rmdir()
    (tmp_path / "voices").write_text("in the way", encoding="ascii")
    with pytest.raises(ModelFileError, match=r"/voices\" cannot be written .*look at its rights"):
        library.save_voice(VOICE, "Ann")
