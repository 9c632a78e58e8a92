"""The only place of the pack that runs programs: what the drivers' own tools say, and Python in a second process.

Every call has a list of arguments, an absolute path, a time limit and an environment of a few named variables; no
shell, no input, no network, nothing installed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOOL_TIMEOUT_S = 15.0  # a machine with eight cards and no persistence mode takes several seconds
_TOOL_NAMES = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH")
# What decides where Python's libraries, drivers and caches are, and which devices torch sees.
_PYTHON_NAMES = (
    *_TOOL_NAMES, "HOME", "USERPROFILE", "LOCALAPPDATA", "TEMP", "TMP", "TMPDIR", "CUDA_HOME", "CUDA_PATH", "ROCM_PATH",
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
    "HSA_OVERRIDE_GFX_VERSION", "ONEAPI_DEVICE_SELECTOR", "ZE_AFFINITY_MASK", "OMP_NUM_THREADS",
)  # fmt: skip
# Where drivers put their tools without changing PATH: Linux under Windows, ROCm.
_FURTHER_FOLDERS = ("/usr/lib/wsl/lib", "/opt/rocm/bin")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program printed.

    Attributes:
        text: Its standard output, whole or up to its end.
        error: Why the answer is missing or incomplete; empty when the program ended well.
    """

    text: str
    error: str = ""


def find_tool(name: str, environment: Mapping[str, str] | None = None) -> str | None:
    """Absolute path of the program called `name` on PATH or where drivers put it; None where there is none."""
    environment = os.environ if environment is None else environment
    folders = [environment.get("PATH", ""), *_FURTHER_FOLDERS]
    found = shutil.which(name, path=os.pathsep.join(filter(None, folders)))
    return os.path.abspath(found) if found else None


def ask_tool(
    name: str, *arguments: str, environment: Mapping[str, str] | None = None, timeout_s: float = TOOL_TIMEOUT_S
) -> Answer | None:
    """What the driver's tool `name` answers; None where it is not installed."""
    environment = os.environ if environment is None else environment
    path = find_tool(name, environment)
    return _run([path, *arguments], _reduced(environment, _TOOL_NAMES), timeout_s) if path else None


def ask_python(
    program: Path,
    *arguments: str,
    library: str = "",
    environment: Mapping[str, str] | None = None,
    timeout_s: float,
) -> Answer:
    """What `program` prints in a second process of this interpreter.

    A broken library may crash there without harm, and no device of this process is touched.

    Args:
        program: A Python file that uses nothing of the pack.
        arguments: Its arguments.
        library: A folder to import from before all others: that of the torch in question.
        environment: Where the few variables come from that are passed on; this process's by default.
        timeout_s: It is ended after this time.
    """
    reduced = _reduced(os.environ if environment is None else environment, _PYTHON_NAMES)
    if library:
        reduced["PYTHONPATH"] = library
    return _run([sys.executable, str(program), *arguments], reduced, timeout_s)


def json_lines(text: str) -> list[dict[str, Any]]:
    """Every line of `text` that is a JSON object; libraries print other things in between."""
    found = []
    for line in text.splitlines():
        try:
            value = json.loads(line) if line.startswith("{") else None
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def _reduced(environment: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    # Windows keeps variables in upper case and finds them in any.
    return {**{name: environment[name] for name in names if name in environment}, "LC_ALL": "C"}


def _run(command: list[str], environment: dict[str, str], timeout_s: float) -> Answer:
    try:
        done = subprocess.run(
            command,
            env=environment,
            timeout=timeout_s,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        printed = error.stdout.decode("utf-8", "replace") if isinstance(error.stdout, bytes) else (error.stdout or "")
        return Answer(printed, f"no answer within {timeout_s:g} s")
    except OSError as error:
        return Answer("", f"it cannot be started: {error.strerror or error}")
    if done.returncode == 0:
        return Answer(done.stdout)
    said = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    how = f"ended by signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
    return Answer(done.stdout, f"{how}: {said[-1].strip()}" if said else how)
