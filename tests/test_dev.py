"""The developer tools: what they remember, what they say when something is wrong, and how benches are judged."""

import json
import os
import runpy
import subprocess
import sys
import tarfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from mizuoto.devtools import bench, checks, cli, console, environment, host, javascript, serve, stamps
from mizuoto.tests.host.local import free_port, is_port_free, link_folder, unlink_folder

ROOT = Path(__file__).resolve().parents[1]


# -- dev.py itself ------------------------------------------------------------------------------------------------


def test_an_old_python_gets_one_sentence(monkeypatch, capsys):
    monkeypatch.setattr(sys, "version_info", (3, 9, 18, "final", 0))
    with pytest.raises(SystemExit) as stop:
        runpy.run_path(str(ROOT / "dev.py"))
    assert stop.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("dev.py needs Python 3.10 or newer and this is Python 3.9.18:")


def test_dev_py_can_be_read_by_an_old_python():
    import ast

    ast.parse((ROOT / "dev.py").read_text(encoding="utf-8"), feature_version=(3, 4))


def test_help_names_every_command():
    shown = subprocess.run([sys.executable, str(ROOT / "dev.py"), "--help"], capture_output=True, text=True, check=True)
    for command in ("demo", "test", "bench", "lint", "templates", "serve", "COMFYUI_PATH", "PORT", "MIZUOTO_CHROMIUM"):
        assert command in shown.stdout


def test_test_hands_its_arguments_to_pytest(monkeypatch):
    seen = []
    monkeypatch.setattr(cli, "_prepare_host", lambda: (Path("python"), Path("comfyui")))
    monkeypatch.setattr(cli, "ensure_second_environment", lambda: seen.append("oracles"))
    monkeypatch.setattr(checks, "test", lambda python, host, rest: seen.append(rest) or 5)
    assert cli.main(["test", "tests/test_dev.py", "-k", "help", "-x"]) == 5
    assert seen == ["oracles", ["tests/test_dev.py", "-k", "help", "-x"]]


def test_browser_tests_run_alone_and_with_more_arguments(monkeypatch):
    seen = []
    monkeypatch.setattr(cli, "_prepare_host", lambda: (Path("python"), Path("comfyui")))
    monkeypatch.setattr(checks.chromium, "find", lambda: Path("chromium"))
    monkeypatch.setattr(checks, "test", lambda python, host, rest: seen.append(rest) or 0)
    assert cli.main(["test", "--browser", "-k", "panel"]) == 0 == cli.main(["test", "--browser"])
    assert seen == [["tests/browser", "-k", "panel"], ["tests/browser"]]


def test_without_chromium_the_browser_tests_say_so_and_nothing_else_is_left_out(monkeypatch, capsys):
    ran = []
    monkeypatch.setattr(cli, "_prepare_host", lambda: (Path("python"), Path("comfyui")))
    monkeypatch.setenv("MIZUOTO_CHROMIUM", "/no/such/program")
    assert cli.main(["test", "--browser"]) == 2
    assert "dev.py: The browser tests need Chromium: install it" in capsys.readouterr().err
    monkeypatch.setattr(checks, "lint", lambda python: 0)
    monkeypatch.setattr(checks, "_side_by_side", lambda commands, environment: ran.extend(commands) or 0)
    assert checks.test(Path("python"), Path("comfyui"), []) == 1
    assert [tuple(command[1:]) for command in ran] == [part for part in checks.PARTS if part != checks.BROWSER]
    assert "tests/browser did not run. The browser tests need Chromium" in capsys.readouterr().out


def test_templates_are_made_by_names_and_need_chromium_too(monkeypatch, capsys):
    ran = []
    monkeypatch.setattr(cli, "_prepare_host", lambda: (Path("python"), Path("comfyui")))
    monkeypatch.setattr(checks.chromium, "find", lambda: Path("chromium"))
    monkeypatch.setattr(
        checks.subprocess, "run", lambda command, **_: ran.append(command) or SimpleNamespace(returncode=0)
    )
    assert cli.main(["templates", "Speak", "Clone a voice"]) == 0
    assert ran[0][0] == "python" and ran[0][-3:] == ["comfyui", "Speak", "Clone a voice"]
    monkeypatch.setattr(checks.chromium, "find", lambda: None)
    assert cli.main(["templates"]) == 2
    assert "need Chromium" in capsys.readouterr().err


def test_bench_gets_its_host_built(monkeypatch):
    seen = []
    monkeypatch.setattr(cli, "_prepare_host", lambda: (Path("python"), Path("comfyui")))
    monkeypatch.setattr(cli, "ensure_second_environment", lambda: seen.append("oracles"))
    monkeypatch.setattr(cli, "add_bench_packages", lambda: seen.append("packages"))
    monkeypatch.setattr(bench, "run", lambda python, host, as_json: seen.append((python, host, as_json)) or 0)
    assert cli.main(["bench", "--json"]) == 0
    assert seen == ["oracles", "packages", (Path("python"), Path("comfyui"), True)]


def test_benches_run_without_what_cannot_be_installed(monkeypatch, tmp_path, capsys):
    def no_network(title, arguments):
        raise console.Stop("No network.")

    monkeypatch.setattr(environment, "VENV", tmp_path)
    monkeypatch.setattr(environment, "pip_install", no_network)
    environment.add_bench_packages()
    assert capsys.readouterr().out == "No network. Going on without.\n"
    assert not (tmp_path / ".bench").exists()
    monkeypatch.setattr(environment, "pip_install", lambda title, arguments: None)
    environment.add_bench_packages()
    assert (tmp_path / ".bench").exists()


@pytest.mark.parametrize(
    ("arguments", "port", "expected"),
    [
        ([], None, 8188),
        ([], "", 8188),
        ([], "9000", 9000),
        (["--port", "1"], "abc", 1),
        (["--port", "65535"], None, 65535),
    ],
)
def test_serve_listens_where_the_option_or_the_environment_says(monkeypatch, arguments, port, expected):
    seen = []
    monkeypatch.setattr(cli, "_prepare_host", lambda: (Path("python"), Path("comfyui")))
    monkeypatch.setattr(serve, "run", lambda python, host, port: seen.append(port) or 0)
    monkeypatch.delenv("PORT", raising=False)
    if port is not None:
        monkeypatch.setenv("PORT", port)
    assert cli.main(["serve", *arguments]) == 0 and seen == [expected]


@pytest.mark.parametrize("port", ["abc", "0", "65536", "99999", "-1", "8188.0", " 80", "٣"])
def test_a_wrong_port_is_one_line_before_anything_is_built(monkeypatch, capsys, port):
    monkeypatch.setattr(cli, "_prepare_host", lambda: pytest.fail("it was built"))
    monkeypatch.setenv("PORT", port)
    assert cli.main(["serve"]) == 2 and cli.main(["serve", f"--port={port}"]) == 2
    sentence = f'is "{port}"; it takes a number from 1 to 65535.'
    assert capsys.readouterr().err.splitlines() == [f"dev.py: PORT {sentence}", f"dev.py: --port {sentence}"]


def test_a_wrong_port_in_the_environment_matters_to_serve_alone(monkeypatch):
    monkeypatch.setenv("PORT", "abc")
    monkeypatch.setattr(cli, "_prepare_environment", lambda: Path("python"))
    monkeypatch.setattr(checks, "lint", lambda python: 0)
    assert cli.main(["lint"]) == 0


@pytest.mark.parametrize("problem", [console.Stop("One sentence."), OSError(13, "Permission denied", "/here")])
def test_a_problem_is_one_line_and_exit_code_2(monkeypatch, capsys, problem):
    def fail():
        raise problem

    monkeypatch.setattr(cli, "_prepare_host", fail)
    assert cli.main(["demo"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line in ("dev.py: One sentence.", "dev.py: /here: Permission denied")


# -- steps and stamps ---------------------------------------------------------------------------------------------


def test_a_long_step_shows_progress_and_gives_back_its_output(monkeypatch, capsys):
    monkeypatch.setattr(console, "HEARTBEAT_S", 0.2)
    code = "import time; print('first thing', flush=True); time.sleep(0.7); print('end')"
    assert console.run_step("work", [sys.executable, "-c", code]).split("\n")[:2] == ["first thing", "end"]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "work ..." and lines[-1].startswith("work: done in ")
    assert any(line.endswith("work: first thing") for line in lines[1:-1])


def test_a_failed_step_carries_what_was_said():
    code = "import sys; print('out'); sys.stdout.flush(); print('err', file=sys.stderr); sys.exit(3)"
    with pytest.raises(console.CommandFailed, match="exit code 3") as caught:
        console.run_step("work", [sys.executable, "-c", code])
    assert caught.value.output.split() == ["out", "err"]


def test_a_stamp_asks_for_a_rebuild_after_a_change_or_an_interruption(tmp_path):
    stamp = stamps.Stamp(tmp_path / "built" / ".stamp", ["a==1"])
    assert not stamp.is_current()
    with stamp.building():
        pass
    assert stamp.is_current()
    assert not stamps.Stamp(stamp.path, ["a==2"]).is_current()
    with pytest.raises(KeyboardInterrupt), stamp.building():
        raise KeyboardInterrupt
    assert not stamp.is_current()


def test_a_lock_is_held_against_other_processes(tmp_path):
    code = f"import fcntl; fcntl.flock(open({str(tmp_path / 'lock')!r}), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    if os.name == "nt":
        pytest.skip("asks with fcntl")
    with stamps.locked(tmp_path / "lock"):
        assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 1
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_an_unwritable_folder_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(console.Stop, match=r"Cannot write into .*file"), stamps.locked(tmp_path / "file" / ".lock"):
        pass


# -- pip and requirements -----------------------------------------------------------------------------------------


def test_no_network_is_one_sentence():
    code = "import sys; print('WARNING: Retrying after NewConnectionError: refused'); sys.exit(1)"
    with pytest.raises(console.Stop, match=r"^No network: pip could not reach the package index for torch;"):
        environment.run_pip("torch", [sys.executable, "-c", code])


def test_another_pip_failure_shows_the_last_error_shortly():
    output = "Collecting x\nERROR: first\nERROR: No matching distribution found for x==9\nnote" + "\n" * 3
    sentence = environment.explain_pip_failure("tools", output)
    assert sentence == "pip could not install tools: No matching distribution found for x==9"
    assert len(environment.explain_pip_failure("tools", "ERROR: " + "versions, " * 1000)) < 400


def test_a_full_disk_needs_what_the_readmes_say():
    sentence = environment.explain_pip_failure("tools", "ERROR: [Errno 28] No space left on device")
    assert "disk is full" in sentence and environment.DISK_SPACE in sentence
    size = environment.DISK_SPACE.partition(",")[0]
    assert size.endswith(" GB")
    assert all(size in (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.zh.md"))


REQUIREMENTS = """comfyui-frontend-package==1.49.6
comfyui-workflow-templates==0.11.44
torch
torchsde
torchvision
numpy>=1.25.0
transformers>=4.50.3
comfy-kitchen==0.2.31

#non essential dependencies:
kornia>=0.7.1
pydantic~=2.0
PyOpenGL>=3.1.8 # shaders
"""


def test_of_a_named_hosts_requirements_only_the_needed_ones_are_added():
    assert host.host_requirements(REQUIREMENTS) == [
        "torchsde",
        "numpy>=1.25.0",
        "comfy-kitchen==0.2.31",
        "pydantic~=2.0",
    ]
    pages = ["comfyui-frontend-package==1.49.6", "comfyui-workflow-templates==0.11.44"]
    assert host.front_end_requirements(REQUIREMENTS) == pages


def test_a_wrong_comfyui_path_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("COMFYUI_PATH", str(tmp_path))
    with pytest.raises(console.Stop, match=r"COMFYUI_PATH is .* no ComfyUI in it"):
        host.ensure_host()


@pytest.mark.parametrize(("cuda", "is_repaired"), [("None", True), ("'12.8'", False)])
def test_torch_companions_are_repaired_once_and_only_beside_a_cpu_torch(tmp_path, cuda, is_repaired):
    for folder in ("torch", "torchvision", "torchaudio/lib"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "torch/version.py").write_text(f"cuda: Optional[str] = {cuda}\n")
    extension = tmp_path / "torchvision/extension.py"
    extension.write_text("def _has_ops():\n    return False\n")
    library = tmp_path / "torchaudio/lib/libtorchaudio.so"
    library.touch()
    environment.repair_torch_companions(tmp_path)
    environment.repair_torch_companions(tmp_path)
    is_repaired = is_repaired and sys.platform.startswith("linux")
    assert library.exists() != is_repaired
    assert extension.read_text().count("qnms") == int(is_repaired)


# -- checks, benches, server --------------------------------------------------------------------------------------


def test_tests_run_with_one_thread_and_must_find_their_host():
    made = checks.test_environment(Path("comfyui"), {"MKL_NUM_THREADS": "4"})
    assert made["OMP_NUM_THREADS"] == "1" and made["MKL_NUM_THREADS"] == "4"
    assert made["MIZUOTO_REQUIRE_HOST"] == "1" and made["COMFYUI_PATH"] == "comfyui"


ROW = {"id": "a", "what": "thing", "ours": 2.0, "other": 1.0, "ratio": 2.0, "bar": 1.5, "holds": True}


def run_benches(tmp_path, capsys, as_json=True, **files):
    for name, body in files.items():
        (tmp_path / f"bench_{name}.py").write_text(body)
    code = bench.run(Path(sys.executable), Path("comfyui"), as_json=as_json, folder=tmp_path)
    return code, capsys.readouterr().out.splitlines()


def test_bench_prints_a_json_object_a_line(tmp_path, capsys):
    body = f"def run():\n    print('noise of a library')\n    yield {ROW!r}\n"
    code, lines = run_benches(tmp_path, capsys, one=body)
    assert (code, [json.loads(line) for line in lines]) == (0, [ROW])


def test_a_bench_runs_with_the_host_it_is_given(tmp_path, capsys):
    body = f"import os\ndef run():\n    yield {ROW!r} | {{'what': os.environ['COMFYUI_PATH']}}\n"
    code, lines = run_benches(tmp_path, capsys, one=body)
    assert (code, json.loads(lines[0])["what"]) == (0, "comfyui")


def test_a_bar_that_does_not_hold_or_a_bench_that_fails_is_an_exit_code(tmp_path, capsys):
    row = {**ROW, "holds": False}
    code, lines = run_benches(tmp_path, capsys, one=f"def run():\n    yield {row!r}\n")
    assert (code, json.loads(lines[0])) == (1, row)
    body = f"def run():\n    yield {ROW!r}\n    raise ValueError('broken')\n"
    code, lines = run_benches(tmp_path, capsys, one=body)
    assert code == 1 and json.loads(lines[-1])["failed"] == "bench_one.py ended with exit code 1"


def test_a_missing_comparator_is_skipped_by_name(tmp_path, capsys):
    body = "def run():\n    import no_such_comparator\n    yield {}\n"
    code, lines = run_benches(tmp_path, capsys, as_json=False, one=body, two=f"def run():\n    yield {ROW!r}\n")
    assert code == 0
    assert "no_such_comparator is not installed" in lines[1] and "skipped" in lines[1]
    assert lines[2].split() == ["a", "2", "1", "2", "1.5", "yes", "thing"]


def test_a_row_without_its_fields_does_not_pass(tmp_path, capsys):
    code, lines = run_benches(tmp_path, capsys, one="def run():\n    yield {'id': 'x', 'holds': True}\n")
    assert code == 1 and "the row lacks what, ours" in lines[0]


def test_serve_names_a_busy_port(monkeypatch, tmp_path):
    import socket

    monkeypatch.setattr(serve, "ensure_front_end", lambda _: tmp_path)
    monkeypatch.setattr(serve, "BUILT", tmp_path)
    monkeypatch.setattr(serve, "has_accelerator", lambda _: False)
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        with pytest.raises(console.Stop, match=f"^Port {port} is in use"):
            serve.run(Path(sys.executable), tmp_path, port)


# -- ports and links ----------------------------------------------------------------------------------------------


def test_a_free_port_is_free():
    assert is_port_free(free_port())


def test_a_linked_folder_shows_the_target_and_unlinking_keeps_it(tmp_path):
    target = tmp_path / "target"
    target.mkdir()
    (target / "file").write_text("kept")
    link = tmp_path / "deep" / "link"
    link_folder(target, link)
    assert (link / "file").read_text() == "kept"
    unlink_folder(link)
    assert not link.exists() and (target / "file").read_text() == "kept"


def test_tests_run_side_by_side_and_one_that_fails_is_seen(capfd):
    told = "import sys; print('part', sys.argv[1]); sys.exit(int(sys.argv[1]))"
    commands = [[sys.executable, "-c", told, code] for code in ("0", "3", "0")]
    assert checks._side_by_side(commands, os.environ) == 3
    assert [line for line in capfd.readouterr().out.splitlines() if line.startswith("part")] == [
        "part 0",
        "part 3",
        "part 0",
    ]
    assert checks._side_by_side(commands[:1] * 2, os.environ) == 0


def test_no_more_run_at_once_than_there_shall_be(tmp_path):
    told = (
        "import pathlib, sys, time; folder = pathlib.Path(sys.argv[1]); mine = folder / sys.argv[2]; mine.touch();"
        "count = len(list(folder.iterdir())); time.sleep(0.3); mine.unlink(); sys.exit(count > 2)"
    )
    commands = [[sys.executable, "-c", told, str(tmp_path), name] for name in "abcd"]
    assert checks._side_by_side(commands, os.environ) == 0


def test_the_parts_are_all_tests():
    everything, *others = checks.PARTS
    ignored = {argument.partition("=")[2] for argument in everything if argument.startswith("--ignore=")}
    assert ignored == {folder for part in others for folder in part} and everything[-1] == "tests"


def test_a_package_of_npm_is_unpacked_without_its_outer_folder(tmp_path):
    (tmp_path / "file").write_text("text")
    with tarfile.open(tmp_path / "packed.tgz", "w:gz") as archive:
        archive.add(tmp_path / "file", "package/bin/file")
    javascript._unpack(tmp_path / "packed.tgz", tmp_path / "target")
    assert (tmp_path / "target/bin/file").read_text() == "text"


def test_what_npm_cannot_fetch_is_one_sentence(monkeypatch, tmp_path):
    def fail(title, command):
        raise console.CommandFailed(command, 1, "npm error network")

    monkeypatch.setattr(javascript, "BUILT", tmp_path)
    monkeypatch.setattr(javascript, "run_step", fail)
    with pytest.raises(console.Stop, match=r"^npm could not fetch typescript@.*: npm error network$"):
        javascript.ensure_tsc(Path(sys.executable))
    assert not (tmp_path / "tsc/.complete").exists()
