"""The command line of `dev.py`."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from . import bench, checks, demo, serve
from .console import Stop
from .environment import BUILT, add_bench_packages, ensure_environment, ensure_second_environment
from .host import ensure_host
from .stamps import locked

DESCRIPTION = "Builds what it needs into .venv and .host once, then runs one of:"


def main(arguments: Sequence[str]) -> int:
    """Run one command and give back the exit code: 0 good, 1 a check failed, 2 it could not be run, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    options, rest = _parser().parse_known_args(arguments)
    if rest and options.command != "test":
        _parser().error(f"{options.command} does not take {' '.join(rest)}")
    try:
        return _run(options, rest)
    except Stop as stop:
        sys.stderr.write(f"dev.py: {stop}\n")
        return 2
    except OSError as error:
        sys.stderr.write(f"dev.py: {error.filename or 'the system'}: {error.strerror or error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("dev.py: interrupted\n")
        return 130


def _run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    if options.command == "lint":
        return checks.lint(_prepare_environment())
    if options.command == "bench":
        return bench.run(*_prepare_bench(), as_json=options.json)
    port = _port(options.port) if options.command == "serve" else 0
    python, host = _prepare_host()
    if options.command == "demo":
        return demo.run(python, host)
    if options.command == "templates":
        return checks.make_templates(python, host, options.names)
    if options.command == "serve":
        return serve.run(python, host, port)
    if options.browser:
        return checks.test_browser(python, host, rest)
    _prepare_oracles()
    return checks.test(python, host, rest)


def _port(option: str | None) -> int:
    """The port that the option, else the environment, else custom names."""
    name, text = ("--port", option) if option is not None else ("PORT", os.environ.get("PORT") or "8188")
    if not re.fullmatch("[0-9]{1,5}", text) or not 1 <= int(text) <= 65535:
        raise Stop(f'{name} is "{text}"; it takes a number from 1 to 65535.')
    return int(text)


def _prepare_environment() -> Path:
    with locked(BUILT / ".lock"):
        return ensure_environment()


def _prepare_host() -> tuple[Path, Path]:
    with locked(BUILT / ".lock"):
        return ensure_environment(), ensure_host()


def _prepare_oracles() -> None:
    with locked(BUILT / ".lock"):
        ensure_second_environment()


def _prepare_bench() -> tuple[Path, Path]:
    python, host = _prepare_host()
    _prepare_oracles()
    with locked(BUILT / ".lock"):
        add_bench_packages()
    return python, host


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dev.py",
        description=DESCRIPTION,
        epilog="Environment: COMFYUI_PATH=/path/to/ComfyUI makes demo, test, bench and serve use that ComfyUI; "
        "PORT is where serve listens (8188) unless --port says otherwise; MIZUOTO_CHROMIUM=/path/to/chromium is the "
        "browser of the tests where it is not the installed one.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    commands.add_parser("demo", help="speak one sentence in a real ComfyUI; leaves demo.wav and demo.json")
    tests = commands.add_parser(
        "test", help="all checks; with pytest arguments only those tests", add_help=False, allow_abbrev=False
    )
    tests.add_argument("--browser", action="store_true", help="only those that drive Chromium")
    benches = commands.add_parser("bench", help="measure against other implementations")
    benches.add_argument("--json", action="store_true", help="one JSON object a line")
    commands.add_parser("lint", help="ruff, mypy and tsc")
    templates = commands.add_parser("templates", help="make workflows and blueprints with ComfyUI's own page")
    templates.add_argument("names", nargs="*", metavar="NAME", help="only these")
    server = commands.add_parser("serve", help="ComfyUI with the pack and its web page, for a person")
    server.add_argument("--port", help="where it listens; default: the environment's PORT, else 8188")
    return parser
