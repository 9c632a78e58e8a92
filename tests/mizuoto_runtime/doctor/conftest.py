"""Fake drivers' tools on a PATH of their own, and a machine that has nothing but what a test gives it."""

import stat
import sys

import pytest
from mizuoto.mizuoto_runtime.doctor import build, hardware, probe
from mizuoto.mizuoto_runtime.doctor.gpus import Gpu


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """`tools(name, text, ...)` puts a program there that prints `text`; gives back an environment with that PATH."""
    if sys.platform == "win32":
        pytest.skip("the fakes are POSIX scripts")
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setattr(probe, "_FURTHER_FOLDERS", ())
    environment = {"PATH": str(folder)}

    def add(name, text="", error="", code=0, body=None):
        (folder / f"{name}.out").write_text(text)
        (folder / f"{name}.err").write_text(error)
        file = folder / name
        lines = body or f"/bin/cat '{folder / name}.out'\n/bin/cat '{folder / name}.err' >&2\nexit {code}\n"
        file.write_text(f'#!/bin/sh\necho "$@" >> "{folder / name}.calls"\n{lines}')
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        return environment

    add.environment = environment
    add.folder = folder
    return add


@pytest.fixture
def bare_machine(monkeypatch, tmp_path):
    """No torch in this process, no card on the bus, not a Mac."""
    monkeypatch.setattr(build, "loaded_torch", lambda: None)
    monkeypatch.setattr(hardware, "adapters", lambda: frozenset())
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")


def nvidia(index=0, name="NVIDIA GeForce RTX 4090", capability="8.9", driver="580.95.05", uuid="GPU-aa"):
    return Gpu(f"cuda:{index}", "nvidia", name, 24 << 30, 20 << 30, capability, driver, uuid)


def torch_of(kind="cuda", toolkit="13.0", version="2.13.0+cu130", folder="/nowhere"):
    return build.TorchBuild(version, kind, toolkit, folder)
