"""Builds `.venv`, the Python environment that the host, the tests and the benches run in, and reuses it.

Beside it stands `.venv5` for upstream packages that need transformers 5, which no environment can have beside 4.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .console import CommandFailed, Stop, run_step, say
from .stamps import Stamp

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
VENV5 = ROOT / ".venv5"
BUILT = ROOT / ".host"
DISK_SPACE = "3 GB, or several GB more where pip brings torch's CUDA build,"

# The versions that ComfyUI's own requirements leave open and that were tried together.
TORCH = "torch==2.13.0"
TORCH_COMPANIONS = ("torchvision==0.28.0", "torchaudio==2.11.1")
HOST_PACKAGES = (
    "transformers==4.57.3", "torchsde", "einops", "sentencepiece", "safetensors", "aiohttp", "pyyaml", "Pillow",
    "scipy", "tqdm", "psutil", "alembic", "SQLAlchemy", "av", "pydantic~=2.0", "pydantic-settings~=2.0", "numpy",
    "requests",
)  # fmt: skip

NO_CONNECTION = (
    "NewConnectionError", "NameResolutionError", "Failed to establish a new connection", "ConnectTimeoutError",
    "Temporary failure in name resolution", "Network is unreachable", "Cannot connect to proxy", "ReadTimeoutError",
)  # fmt: skip


def venv_python(venv: Path | None = None) -> Path:
    """The interpreter of `.venv`, or of another environment, whether or not it is built."""
    return (venv or VENV) / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def ensure_environment() -> Path:
    """The interpreter of a complete `.venv`; builds what is missing or was asked for differently last time."""
    base = _base_stamp()
    if not base.is_current() or not venv_python().exists():
        with base.building():
            _create_venv(VENV)
            pip_install("torch and ComfyUI's requirements", [TORCH, *HOST_PACKAGES])
            pip_install("torchvision and torchaudio", ["--no-deps", *TORCH_COMPANIONS])
            _repair_torch_companions()
    own, tools, oracles = (ROOT / name for name in ("requirements.txt", "tests/requirements.txt", "tests/oracles.txt"))
    stamp = Stamp(VENV / ".tools", [file.read_text(encoding="utf-8") for file in (own, tools, oracles)])
    if not stamp.is_current():
        with stamp.building():
            pip_install("what the pack needs, and test tools", ["-r", str(own), "-r", str(tools)])
            # Without what they pin for their own command lines and web pages.
            pip_install("upstream packages to compare with", ["--no-deps", "-r", str(oracles)])
    return venv_python()


def ensure_second_environment() -> Path:
    """The interpreter of a complete `.venv5`; `.venv` must be complete.

    Its own packages come first, and behind them it sees those of `.venv`, so that torch is there once only.
    """
    requirements = ROOT / "tests" / "oracles5.txt"
    stamp = Stamp(VENV5 / ".oracles", [_base_stamp().digest, requirements.read_text(encoding="utf-8")])
    python = venv_python(VENV5)
    if not stamp.is_current() or not python.exists():
        with stamp.building():
            _create_venv(VENV5)
            own, shared = _site_packages(python), _site_packages(venv_python())
            (own / "shared.pth").write_text(f"{shared}\n", encoding="utf-8")
            pip_install("upstream packages on transformers 5", ["--no-deps", "-r", str(requirements)], python)
    return python


def add_bench_packages() -> None:
    """Add what the benches compare with to a complete `.venv`; where it cannot be had, say so: they skip it by name."""
    requirements = ROOT / "tests" / "bench" / "requirements.txt"
    stamp = Stamp(VENV / ".bench", requirements.read_text(encoding="utf-8"))
    if stamp.is_current():
        return
    try:
        with stamp.building():
            pip_install("what the benches compare with", ["-r", str(requirements)])
    except Stop as stop:
        say(f"{stop} Going on without.")


def has_accelerator(python: Path) -> bool:
    """Whether the torch of this interpreter can compute on anything but the CPU here."""
    code = "import torch; raise SystemExit(not torch.accelerator.is_available())"
    return subprocess.run([str(python), "-c", code], capture_output=True, check=False).returncode == 0


def pip_install(title: str, arguments: Sequence[str], python: Path | None = None) -> None:
    """Install into `.venv`, or the environment of another interpreter.

    Raises:
        Stop: pip could not; the sentence says which package and why.
    """
    command = [
        str(python or venv_python()),
        "-m",
        "pip",
        "install",
        "--no-compile",
        "--no-input",
        "--progress-bar",
        "off",
    ]
    run_pip(title, [*command, *arguments])


def run_pip(title: str, command: Sequence[str]) -> None:
    """Run a pip command line with progress lines, and turn its failure into one sentence.

    Raises:
        Stop: It failed.
    """
    try:
        run_step(title, command, describe=_describe_pip)
    except CommandFailed as failure:
        raise Stop(explain_pip_failure(title, failure.output)) from None


def explain_pip_failure(title: str, output: str) -> str:
    """One sentence for what pip wrote before it gave up."""
    if any(sign in output for sign in NO_CONNECTION):
        return f"No network: pip could not reach the package index for {title}; connect, then run the command again."
    if "No space left on device" in output:
        return f"The disk is full: pip could not install {title}; free about {DISK_SPACE} and run the command again."
    errors = [line.strip() for line in output.splitlines() if line.startswith("ERROR:")]
    reason = errors[-1].removeprefix("ERROR:").strip() if errors else output.strip()[-300:]
    return f"pip could not install {title}: {reason[:300]}"


def _describe_pip(line: str) -> str | None:
    words = line.split()
    if words[:1] in (["Collecting"], ["Downloading"], ["Processing"]):
        return f"{words[0].lower()} {re.split(r'[(<>=!~;]', Path(words[1]).name)[0]}"
    if line.startswith("Installing collected packages"):
        return f"unpacking {line.count(',') + 1} packages"
    return None


def _base_stamp() -> Stamp:
    return Stamp(VENV / ".base", [TORCH, TORCH_COMPANIONS, HOST_PACKAGES, sys.platform])


def _create_venv(venv: Path) -> None:
    try:
        if venv.exists():
            shutil.rmtree(venv)
    except OSError as error:
        raise Stop(f"Cannot replace {venv} ({error.strerror}): close what uses it, or delete it yourself.") from None
    # Built by the interpreter that lies under a venv, should dev.py run inside one: it may be the one just deleted.
    python = getattr(sys, "_base_executable", None) or sys.executable
    try:
        run_step("virtual environment", [python, "-m", "venv", str(venv)])
    except (CommandFailed, OSError) as failure:
        said = failure.output if isinstance(failure, CommandFailed) else str(failure)
        if "ensurepip" in said:
            raise Stop(f"{python} has no ensurepip: install its venv package (Debian: python3-venv).") from None
        raise Stop(f"Cannot create {venv}: {said.strip()[-300:]}") from None


def _repair_torch_companions() -> None:
    """Make torchvision and torchaudio importable beside a CPU-only torch: their wheels are linked against CUDA."""
    repair_torch_companions(_site_packages(venv_python()))


def _site_packages(python: Path) -> Path:
    asked = subprocess.run(
        [str(python), "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return Path(asked.stdout.strip())


def repair_torch_companions(site_packages: Path) -> None:
    """As the wheels cannot load their compiled halves without CUDA, drop the one and declare the schemas of the other.

    Args:
        site_packages: Where torch, torchvision and torchaudio lie; changed in place, at most once.
    """
    if not sys.platform.startswith("linux") or "cuda: Optional[str] = None" not in (
        site_packages / "torch" / "version.py"
    ).read_text(encoding="utf-8"):
        return
    for library in (site_packages / "torchaudio" / "lib").glob("*.so"):
        library.unlink()
    extension = site_packages / "torchvision" / "extension.py"
    source = extension.read_text(encoding="utf-8")
    if SCHEMAS not in source:
        extension.write_text(source + SCHEMAS, encoding="utf-8")


SCHEMAS = """
if not _has_ops():
    _schemas = torch.library.Library("torchvision", "FRAGMENT")
    for _name in ("nms", "qnms"):
        _schemas.define(_name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
"""
