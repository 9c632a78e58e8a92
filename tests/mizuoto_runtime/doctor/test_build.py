import sys
from types import SimpleNamespace

import pytest
import torch
from mizuoto.mizuoto_runtime.doctor import build


@pytest.fixture
def install(tmp_path):
    def make(version_file):
        package = tmp_path / "torch"
        package.mkdir()
        (package / "__init__.py").write_text("raise SystemExit('imported')")
        if version_file is not None:
            (package / "version.py").write_text(version_file)
        return lambda _name: SimpleNamespace(origin=str(package / "__init__.py"))

    return make


@pytest.fixture(autouse=True)
def linux(monkeypatch):
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")


def file(version, **values):
    lines = [f"{name}: Optional[str] = {value!r}" for name, value in {"cuda": None, "hip": None, **values}.items()]
    return "\n".join(["from typing import Optional", "__all__ = ['x']", f"__version__ = {version!r}", *lines])


@pytest.mark.parametrize(
    ("text", "kind", "toolkit"),
    [
        (file("2.13.0+cu130", cuda="13.0"), "cuda", "13.0"),
        (file("2.8.0+rocm6.4", hip="6.4.43482-0f2d60242"), "rocm", "6.4.43482"),
        (file("2.13.0+xpu", xpu="20250101"), "xpu", "20250101"),
        (file("2.13.0+cpu"), "cpu", ""),
        (file("2.13.0"), "cpu", ""),
    ],
)
def test_what_it_was_built_for(install, tmp_path, text, kind, toolkit):
    found = build.installed_torch(install(text))
    assert (found.kind, found.toolkit, found.folder) == (kind, toolkit, str(tmp_path))


def test_on_a_mac_it_is_for_mps(install, monkeypatch):
    find = install(file("2.13.0"))
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    assert build.installed_torch(find).kind == "cpu"
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    assert build.installed_torch(find).kind == "mps"


@pytest.mark.parametrize("text", [None, "", "raise SystemExit", "__version__ = f(", "__version__ = 3", "\0"])
def test_a_damaged_one_is_none_and_nothing_is_run(install, text):
    assert build.installed_torch(install(text)) is None


@pytest.mark.parametrize("spec", [None, SimpleNamespace(origin=None), SimpleNamespace()])
def test_none_installed(spec):
    assert build.installed_torch(lambda _name: spec) is None


def test_a_name_that_is_blocked(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert build.installed_torch() is None and build.loaded_torch() is None


def test_the_real_one():
    found = build.installed_torch()
    assert found.version == torch.__version__
    assert build.loaded_torch() is torch


def test_release():
    assert build.TorchBuild("2.13.1+cu130", "cuda", "13.0", "").release == "2.13"
