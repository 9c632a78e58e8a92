"""Lets modules of `nodes.host` that touch little of ComfyUI be imported without it."""

import sys
import types
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def packages_without_comfyui(monkeypatch):
    for name, folder in (("mizuoto.nodes", ROOT / "nodes"), ("mizuoto.nodes.host", ROOT / "nodes" / "host")):
        package = types.ModuleType(name)
        package.__path__ = [str(folder)]
        monkeypatch.setitem(sys.modules, name, package)
    yield
    for name in [name for name in sys.modules if name.startswith("mizuoto.nodes.")]:
        sys.modules.pop(name)  # not through monkeypatch, which would put it back


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


@pytest.fixture
def ask(monkeypatch):
    """Has `huggingface_hub` ask the hub that it is called with, a `FakeHub`."""

    def ask(server):
        import huggingface_hub.file_download
        from huggingface_hub import constants

        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        template = server.url + "/{repo_id}/resolve/{revision}/{filename}"
        for module in (constants, huggingface_hub.file_download):  # by the library's version
            monkeypatch.setattr(module, "HUGGINGFACE_CO_URL_TEMPLATE", template, raising=False)

    return ask
