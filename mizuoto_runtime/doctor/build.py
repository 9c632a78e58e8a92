"""The installed torch without importing it: version and what it was built for, from its own version file (S019)."""

from __future__ import annotations

import ast
import importlib.util
import platform
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

_NAMES = ("__version__", "cuda", "hip", "xpu")


@dataclass(frozen=True, slots=True)
class TorchBuild:
    """An installed torch.

    Attributes:
        version: Such as "2.13.0+cu130".
        kind: What it was built for: "cuda", "rocm", "xpu", "mps" or "cpu".
        toolkit: Version of CUDA, HIP or SYCL; empty for the others.
        folder: Where `import torch` finds it.
    """

    version: str
    kind: str
    toolkit: str
    folder: str

    @property
    def release(self) -> str:
        """Major and minor version: "2.13"."""
        return ".".join(self.version.split("+")[0].split(".")[:2])


def loaded_torch() -> ModuleType | None:
    """The torch of this process, if it has been imported."""
    module = sys.modules.get("torch")
    return module if hasattr(module, "version") else None


def installed_torch(find: Callable[[str], object] = importlib.util.find_spec) -> TorchBuild | None:
    """What is installed; None where there is no torch, or one whose version file cannot be read."""
    try:
        origin = getattr(find("torch"), "origin", None)
        package = Path(origin).parent if isinstance(origin, str) else None
        values = _read(package / "version.py") if package else {}
    except (ImportError, ValueError, OSError, SyntaxError):
        return None
    version = values.get("__version__")
    if package is None or version is None:
        return None
    kind, toolkit = _kind(values)
    return TorchBuild(version, kind, toolkit, str(package.parent))


def is_apple_silicon(platform: str, machine: str) -> bool:
    """Whether this is a Mac with a GPU that torch can use."""
    return platform == "Darwin" and machine == "arm64"


def _kind(values: dict[str, str]) -> tuple[str, str]:
    for name, kind in (("cuda", "cuda"), ("hip", "rocm"), ("xpu", "xpu")):
        if name in values:
            return kind, re.sub(r"[^0-9.].*", "", values[name])
    return ("mps" if is_apple_silicon(platform.system(), platform.machine()) else "cpu"), ""


def _read(file: Path) -> dict[str, str]:
    """The string values of the assignments that matter; the file is read, not run."""
    found = {}
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        target = node.target if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [None])[0]
        value = getattr(getattr(node, "value", None), "value", None)  # of an ast.Constant
        if isinstance(target, ast.Name) and target.id in _NAMES and isinstance(value, str):
            found[target.id] = value
    return found
