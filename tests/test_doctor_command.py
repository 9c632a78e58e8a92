"""`python -m mizuoto doctor` as a user runs it: in a process of its own, with torch and without."""

import json
import os
import subprocess
import sys
from pathlib import Path

import mizuoto
import pytest
from mizuoto import engines

ROOT = Path(mizuoto.__path__[0])
PROGRAM = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location("mizuoto", {str(ROOT / "__init__.py")!r},
                                              submodule_search_locations=[{str(ROOT)!r}])
sys.modules["mizuoto"] = package = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
from mizuoto import engines
from mizuoto.__main__ import main
code = main(sys.argv[1:])
assert "mizuoto.mizuoto_runtime.runtime" not in sys.modules
sys.exit(code)
"""


def run(*arguments, flags=("-I",), **environment):
    command = [sys.executable, *flags, "-c", PROGRAM, *arguments]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MIZUOTO_")} | environment
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_doctor_as_json_on_one_engine():
    done = run("doctor", "hibari", "--json", "--no-self-test")
    report = json.loads(done.stdout)
    assert done.returncode == 0
    assert [name for name in report["sections"] if name.startswith("engine")] == ["engine hibari"]
    assert report["sections"]["engine hibari"]["facts"]["usable"] is True


def test_doctor_without_torch_and_without_any_package():
    # -S hides site-packages.
    done = run("doctor", "--json", flags=("-I", "-S"))
    report = json.loads(done.stdout)
    assert (done.returncode, done.stderr, report["level"]) == (1, "", "error")
    (torch,) = report["sections"]["torch"]["findings"]
    assert torch["level"] == "error" and "pip install" in torch["fix"] and sys.executable in torch["fix"]
    assert report["sections"]["engine hibari"]["facts"]["lacks"] == ["torch", "numpy", "safetensors"]
    assert report["sections"]["settings"]["facts"]["settings"]


def test_doctor_as_text_finds_a_faulty_setting():
    done = run("doctor", flags=("-I", "-S"), MIZUOTO_VRAM_MODE="medium")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("Speech Doctor: ") and "\nengine hibari\n" in done.stdout
    assert "fix: Correct or unset MIZUOTO_VRAM_MODE." in done.stdout


@pytest.mark.parametrize("name", ["nope", "../hibari"])
def test_doctor_on_an_engine_that_is_not_there(name):
    done = run("doctor", name, flags=("-I", "-S"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f'mizuoto: There is no engine "{name}"; there are: {", ".join(engines.manifests())}.\n'
