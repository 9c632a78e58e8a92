"""Lets modules of `nodes.host` that touch little of ComfyUI be imported without it."""

import sys
import types
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
