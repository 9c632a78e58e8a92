"""Which folders are searched, and in which order."""

import sys
import types
from importlib import import_module

import pytest


@pytest.fixture
def folders(packages_without_comfyui, monkeypatch, tmp_path):
    """The module above a ComfyUI whose models folder is `tmp_path`, with `tts` registered as its default."""
    stub = types.ModuleType("folder_paths")
    stub.models_dir = str(tmp_path)
    stub.folder_names_and_paths = {}
    stub.get_folder_paths = lambda key: list(stub.folder_names_and_paths[key])

    def add(key, path, is_default=False):
        stub.folder_names_and_paths.setdefault(key, []).insert(0 if is_default else 99, path)

    stub.add_model_folder_path = add
    monkeypatch.setitem(sys.modules, "folder_paths", stub)
    module = import_module("mizuoto.nodes.host.folders")
    module.register_folders()
    return module


def configure(key, path):
    path.mkdir(exist_ok=True)
    sys.modules["folder_paths"].add_model_folder_path(key, str(path))
    return path


def test_the_default_root_is_made_and_comes_first(folders, tmp_path):
    extra, other = configure("tts", tmp_path / "extra"), configure("TTS", tmp_path / "other")
    (tmp_path / "TTS").mkdir(exist_ok=True)
    default, *rest = folders.roots()
    assert default == tmp_path / "tts"
    assert rest[:2] == [extra, other]


def test_the_default_root_comes_first_where_both_names_are_one_folder(folders, tmp_path):
    if not (tmp_path / "TTS").exists():  # it does where case does not count
        (tmp_path / "TTS").symlink_to(tmp_path / "tts", target_is_directory=True)
    extra = configure("tts", tmp_path / "extra")
    assert folders.roots() == [tmp_path / "tts", extra]


def test_folders_that_do_not_exist_are_left_out(folders, tmp_path):
    sys.modules["folder_paths"].add_model_folder_path("tts", str(tmp_path / "gone"))
    assert tmp_path / "gone" not in folders.roots()


@pytest.mark.parametrize("name", ["gone", "", 5, None, ["x"], {}])
def test_whatever_is_no_name_of_a_model_is_refused_with_the_choice(folders, name):
    from mizuoto.mizuoto_runtime.errors import InvalidRequest

    with pytest.raises(InvalidRequest, match=r"is not installed: .*choose one of: hibari \(built-in\)"):
        folders.find_model(name)
