"""Lint and tests, as they run everywhere: on a desk and in CI."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..tests.browser import chromium
from ..tests.host.local import link_folder, unlink_folder
from . import javascript
from .console import Stop, say
from .environment import ROOT

TYPED = ("mizuoto_runtime", "engines", "cli", "devtools")
BROWSER = ("tests/browser",)
# All tests, in processes of which two run at a time and take about the same time in the end.
PARTS = (
    ("--ignore=tests/host", "--ignore=tests/contract", "--ignore=tests/browser", "tests"),
    ("tests/host", "tests/contract"),
    BROWSER,
)
AT_ONCE = 2
ONE_THREAD = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def lint(python: Path) -> int:
    """Run ruff, mypy and tsc; all of them, so that one run shows everything. 0 if all are content, else 1."""
    failed = [
        title
        for title, command in (
            ("ruff check", [str(python), "-m", "ruff", "check", "--quiet", "."]),
            ("ruff format", [str(python), "-m", "ruff", "format", "--check", "--quiet", "."]),
        )
        if not _passes(title, command, ROOT)
    ]
    if not _mypy_passes(python):
        failed.append("mypy")
    say("tsc")
    if not javascript.types_pass(python):
        failed.append("tsc")
    say(f"lint: {', '.join(failed)} failed" if failed else "lint: passed")
    return 1 if failed else 0


def test(python: Path, host: Path, arguments: Sequence[str]) -> int:
    """Run lint and every test, or with arguments only pytest with them. 0 if all pass, else 1 or pytest's own code.

    Without Chromium the browser tests are left out, which is said and makes it 1.
    """
    # Not `python -m pytest`: that puts the checkout into sys.path, where its `nodes` stands in for ComfyUI's.
    pytest, environment = str(python.parent / "pytest"), test_environment(host)
    if arguments:
        say("pytest " + " ".join(arguments))
        return subprocess.run([pytest, *arguments], cwd=ROOT, env=environment, check=False).returncode
    lint_code = lint(python)
    has_chromium = chromium.find() is not None
    parts = [part for part in PARTS if has_chromium or part != BROWSER]
    code = _side_by_side([[pytest, *part] for part in parts], environment) or lint_code
    if not has_chromium:
        say(f"tests/browser did not run. {chromium.HOW_TO_INSTALL}")
    return code or int(not has_chromium)


def test_browser(python: Path, host: Path, arguments: Sequence[str]) -> int:
    """Run the browser tests alone, with further arguments for pytest; as `test`.

    Raises:
        Stop: There is no Chromium.
    """
    if chromium.find() is None:
        raise Stop(chromium.HOW_TO_INSTALL)
    return test(python, host, [*BROWSER, *arguments])


def make_templates(python: Path, host: Path, names: Sequence[str]) -> int:
    """Make all workflows and blueprints, or those that are named; 0 if it went well. See devtools/templates/README.md.

    Raises:
        Stop: There is no Chromium.
    """
    if chromium.find() is None:
        raise Stop(chromium.HOW_TO_INSTALL)
    command = [str(python), str(ROOT / "devtools" / "templates" / "make.py"), str(host), *names]
    return subprocess.run(command, cwd=ROOT, env=test_environment(host), check=False).returncode


def _side_by_side(commands: Sequence[Sequence[str]], environment: Mapping[str, str]) -> int:
    """Run commands, `AT_ONCE` at a time, since each keeps one core busy.

    What the first writes is seen at once, and what the others write when all have ended.

    Returns the first exit code that is not 0.
    """
    with contextlib.ExitStack() as stack:
        logs = [stack.enter_context(tempfile.TemporaryFile()) for _ in commands[1:]]
        processes: list[subprocess.Popen[bytes]] = []
        try:
            for command, log in zip(commands, [None, *logs], strict=True):
                while sum(process.poll() is None for process in processes) >= AT_ONCE:
                    time.sleep(0.1)
                say(" ".join(("pytest", *command[1:])))
                processes.append(
                    subprocess.Popen(
                        list(command), cwd=ROOT, env=dict(environment), stdout=log, stderr=log and subprocess.STDOUT
                    )
                )
            codes = [process.wait() for process in processes]
        finally:
            for process in processes:
                process.kill()
        for log in logs:
            log.seek(0)
            say(log.read().decode("utf-8", "replace"))
    return next((code for code in codes if code), 0)


def test_environment(host: Path, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment that tests, benches and demo run in: one thread, no hub, and a host that must be there."""
    environment = dict(os.environ if base is None else base)
    for name in ONE_THREAD:
        environment.setdefault(name, "1")
    environment |= {
        "HF_HUB_OFFLINE": "1",
        "COMFYUI_PATH": str(host),
        "MIZUOTO_REQUIRE_HOST": "1",
    }
    return environment


def _mypy_passes(python: Path) -> bool:
    # mypy takes a package's name from its folder's, and a checkout's is mostly no identifier. So it gets a package
    # with a name, and without the root's __init__, which leads to the nodes and so to ComfyUI.
    with tempfile.TemporaryDirectory(prefix="mizuoto-mypy-") as folder:
        package = Path(folder) / "mizuoto"
        package.mkdir()
        (package / "__init__.py").touch()
        parts = [part for part in TYPED if (ROOT / part).is_dir()]
        for part in (*parts, "tests"):
            link_folder(ROOT / part, package / part)
        command = [str(python), "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml")]
        command += ["--cache-dir", str(ROOT / ".mypy_cache"), *(f"mizuoto/{part}" for part in parts)]
        try:
            return _passes("mypy", command, Path(folder))
        finally:
            for part in (*parts, "tests"):
                unlink_folder(package / part)


def _passes(title: str, command: Sequence[str], cwd: Path) -> bool:
    say(title)
    return subprocess.run(list(command), cwd=cwd, check=False).returncode == 0
