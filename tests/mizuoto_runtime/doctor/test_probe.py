import os
import sys
import time

import pytest
from mizuoto.mizuoto_runtime.doctor import probe


def test_a_tool_that_is_not_there(tools):
    assert probe.ask_tool("nvidia-smi", environment=tools.environment) is None


def test_an_answer_and_its_arguments(tools):
    environment = tools("nvidia-smi", "said")
    assert probe.ask_tool("nvidia-smi", "-a", "b c", environment=environment) == probe.Answer("said")
    assert (tools.folder / "nvidia-smi.calls").read_text() == "-a b c\n"


def test_a_failing_tool_says_why(tools):
    environment = tools("nvidia-smi", error="first\nNVML: driver mismatch\n", code=9)
    answer = probe.ask_tool("nvidia-smi", environment=environment)
    assert answer.error == "exit code 9: NVML: driver mismatch"


def test_a_tool_that_hangs_is_ended(tools):
    environment = tools("nvidia-smi", body="echo begun\nexec /bin/sleep 60")
    start = time.monotonic()
    answer = probe.ask_tool("nvidia-smi", environment=environment, timeout_s=0.5)
    assert time.monotonic() - start < 20
    assert answer == probe.Answer("begun\n", "no answer within 0.5 s")


def test_a_tool_that_crashes(tools):
    environment = tools("rocm-smi", body="kill -11 $$")
    assert probe.ask_tool("rocm-smi", environment=environment).error == "ended by signal 11"


def test_a_tool_that_is_no_program(tools):
    environment = tools("nvidia-smi")
    (tools.folder / "nvidia-smi").write_bytes(b"\x7fELF nonsense")
    assert "cannot be started" in probe.ask_tool("nvidia-smi", environment=environment).error


def test_only_named_variables_are_passed_on(tools):
    environment = tools("nvidia-smi", body="/usr/bin/env")
    secret = {**environment, "TOKEN": "secret", "LD_LIBRARY_PATH": "/lib64", "CUDA_VISIBLE_DEVICES": "0"}
    lines = probe.ask_tool("nvidia-smi", environment=secret).text.splitlines()
    assert {line.partition("=")[0] for line in lines} <= {"PATH", "LD_LIBRARY_PATH", "LC_ALL", "PWD", "SHLVL", "_"}
    assert "LD_LIBRARY_PATH=/lib64" in lines


def test_python_runs_with_the_library_given_and_few_variables(tmp_path):
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "torch.py").write_text("name = 'mine'")
    program = tmp_path / "program.py"
    program.write_text("import json, os, sys, torch\nprint(json.dumps([torch.name, sys.argv[1:], list(os.environ)]))")
    environment = {**os.environ, "TOKEN": "secret", "CUDA_VISIBLE_DEVICES": "1"}
    answer = probe.ask_python(program, "a b", library=str(tmp_path / "library"), environment=environment, timeout_s=60)
    assert answer.error == ""
    assert '["mine", ["a b"]' in answer.text and "CUDA_VISIBLE_DEVICES" in answer.text and "TOKEN" not in answer.text


def test_json_lines_skips_what_is_no_object():
    assert probe.json_lines('loading...\n{"a": 1}\n{broken\n[1]\n{"b": 2}') == [{"a": 1}, {"b": 2}]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX paths")
def test_the_path_is_absolute(tools, monkeypatch):
    tools("nvidia-smi")
    monkeypatch.chdir(tools.folder.parent)
    assert probe.find_tool("nvidia-smi", {"PATH": "bin"}) == str(tools.folder / "nvidia-smi")
