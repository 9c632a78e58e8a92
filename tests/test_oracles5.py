"""The second environment: built beside the first, and never silently absent."""

import sys

import pytest
import torch
from mizuoto.devtools import console, environment
from mizuoto.tests import oracles5

ECHO = """
import json, sys
from pathlib import Path
from safetensors.torch import load_file, save_file
folder = Path(sys.argv[1])
factor = json.loads((folder / "request.json").read_text())["factor"]
tensors = load_file(folder / "request.safetensors")
save_file({name: factor * tensor for name, tensor in tensors.items()}, folder / "answer.safetensors")
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    """Writes a script, which runs in the interpreter of the tests."""
    monkeypatch.setenv("MIZUOTO_ORACLES5", sys.executable)

    def write(text):
        (tmp_path / "script.py").write_text(text, encoding="utf-8")
        return tmp_path / "script.py"

    return write


def test_a_script_gets_tensors_and_gives_some_back(script):
    found = oracles5.run(script(ECHO), {"x": torch.arange(3)}, factor=2)
    assert list(found) == ["x"] and torch.equal(found["x"], 2 * torch.arange(3))


@pytest.mark.parametrize("text", ["raise SystemExit('it broke')", "print('it broke')"])
def test_a_script_that_fails_is_shown(script, text):
    with pytest.raises(RuntimeError, match=r"script\.py failed in [^\n]*\n(.|\n)*it broke"):
        oracles5.run(script(text), {"x": torch.zeros(1)})


def test_without_the_environment_nothing_is_skipped(script, monkeypatch, tmp_path):
    monkeypatch.delenv("MIZUOTO_ORACLES5")
    monkeypatch.setattr(oracles5, "VENV5", tmp_path / "none")
    with pytest.raises(RuntimeError, match=r"is missing: `python dev\.py test` builds it"):
        oracles5.run(script(ECHO), {"x": torch.zeros(1)})


@pytest.fixture
def venvs(monkeypatch, tmp_path):
    """(folder of the second environment, titles of what was installed into it); nothing is really built."""
    installed = []
    monkeypatch.setattr(environment, "VENV5", tmp_path / "second")
    monkeypatch.setattr(environment, "_create_venv", lambda venv: venv.mkdir(exist_ok=True))
    monkeypatch.setattr(environment, "_site_packages", lambda python: python.parents[1])
    monkeypatch.setattr(environment, "pip_install", lambda title, arguments, python: installed.append(arguments))
    return tmp_path / "second", installed


def test_the_second_environment_sees_the_first_and_is_built_once(venvs):
    folder, installed = venvs
    for _ in range(2):
        python = environment.ensure_second_environment()
        python.parent.mkdir(exist_ok=True)
        python.touch()
    assert python == environment.venv_python(folder)
    assert (folder / "shared.pth").read_text() == f"{environment.VENV}\n"
    assert [arguments[:2] for arguments in installed] == [["--no-deps", "-r"]]


def test_a_second_environment_that_failed_is_built_again(venvs, monkeypatch):
    folder, installed = venvs

    def no_network(*arguments):
        raise console.Stop("No network.")

    with monkeypatch.context() as patch:
        patch.setattr(environment, "pip_install", no_network)
        with pytest.raises(console.Stop):
            environment.ensure_second_environment()
    environment.ensure_second_environment()
    assert len(installed) == 1 and (folder / ".oracles").exists()
