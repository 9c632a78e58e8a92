"""Which accelerators this machine has and how that was found (S016, S017, S184-S187), without touching any."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..ram import ram_bytes
from . import build as torch_build
from . import gpus, probe
from .build import TorchBuild
from .child import devices
from .gpus import Gpu

TORCH_TIMEOUT_S = 90.0  # the first import of torch after a restart reads a gigabyte
_DEVICES = Path("/sys/bus/pci/devices")
_VENDORS = {"0x10de": "nvidia", "0x1002": "amd", "0x8086": "intel"}


@dataclass(frozen=True, slots=True)
class Hardware:
    """The accelerators of a machine.

    Attributes:
        gpus: What torch will see, by its names.
        found_by: "nvidia-smi", "rocm-smi", "amd-smi", "platform", "torch in this process", "torch in a second process";
            empty when nothing was found.
        hidden: GPUs that are there but that a *_VISIBLE_DEVICES variable hides.
        cards: Vendors of the display adapters on the bus, as far as the system tells, driver or not.
        failures: Program -> why it gave no answer.
    """

    gpus: tuple[Gpu, ...] = ()
    found_by: str = ""
    hidden: tuple[Gpu, ...] = ()
    cards: frozenset[str] = frozenset()
    failures: Mapping[str, str] = field(default_factory=dict)


def find_hardware(build: TorchBuild | None, environment: Mapping[str, str] | None = None) -> Hardware:
    """The accelerators, found by the cheapest means that knows.

    A torch that already uses one is asked in this process; otherwise the drivers' tools and the platform are, and only
    when they find nothing and `build` could use something, torch itself in a second process (S186).
    """
    environment = os.environ if environment is None else environment
    cards = adapters()
    if torch := torch_build.loaded_torch():
        in_use = [Gpu(**facts) for facts in devices.describe(torch, only_in_use=True)]
        if in_use:
            return Hardware(tuple(in_use), "torch in this process", cards=cards)
    failures: dict[str, str] = {}
    amd_first = build is not None and build.kind == "rocm"
    for ask in (_amd, _nvidia) if amd_first else (_nvidia, _amd):
        found = ask(environment, failures)
        if found is not None:
            tool, seen, left = found
            if left or not _names_a_slice(environment):
                hidden = tuple(gpu for gpu in seen if gpu not in left)
                return Hardware(tuple(gpus.renumber(left)), tool, hidden, cards, failures)
    if torch_build.is_apple_silicon(platform.system(), platform.machine()):
        return Hardware(
            (Gpu("mps", "apple", "Apple GPU", ram_bytes()[0] or 0),), "platform", cards=cards, failures=failures
        )
    if build is not None and build.kind != "cpu":
        asked = ask_torch(build, environment)
        if isinstance(asked, str):
            failures["torch"] = asked
        elif asked:
            return Hardware(tuple(asked), "torch in a second process", cards=cards, failures=failures)
    return Hardware(cards=cards, failures=failures)


def ask_torch(build: TorchBuild, environment: Mapping[str, str] | None = None) -> list[Gpu] | str:
    """What torch sees in a second process, or why it could not say."""
    answer = probe.ask_python(
        Path(devices.__file__), library=build.folder, environment=environment, timeout_s=TORCH_TIMEOUT_S
    )
    lines = probe.json_lines(answer.text)
    if answer.error or not lines or "done" not in lines[-1]:
        return answer.error or "no answer"
    return [Gpu(**facts) for facts in lines[:-1]]


def adapters(folder: Path = _DEVICES) -> frozenset[str]:
    """Vendors of the display adapters and accelerators on the PCI bus; empty where the system does not list them."""
    found = set()
    try:
        for device in folder.iterdir():
            kind = (device / "class").read_text(encoding="ascii").strip()
            vendor = (device / "vendor").read_text(encoding="ascii").strip()
            # 0x03: display; AMD's Instinct cards are 0x12, processing accelerators.
            if kind.startswith(("0x03", "0x12")) and vendor in _VENDORS:
                found.add(_VENDORS[vendor])
    except (OSError, ValueError):
        return frozenset(found)
    return frozenset(found)


_Found = tuple[str, list[Gpu], list[Gpu]]  # the tool, what it lists, what is left to torch


def _nvidia(environment: Mapping[str, str], failures: dict[str, str]) -> _Found | None:
    for fields in (gpus.NVIDIA_FIELDS, gpus.NVIDIA_FIELDS[:-1]):  # drivers before 470 do not know compute_cap
        query = ("--query-gpu=" + ",".join(fields), "--format=csv,noheader,nounits")
        answer = probe.ask_tool("nvidia-smi", *query, environment=environment)
        if answer is None:
            return None
        found = gpus.parse_nvidia(answer.text)
        if found:
            return "nvidia-smi", found, gpus.visible_nvidia(found, environment)
        if "not a valid field" not in answer.text + answer.error:
            failures["nvidia-smi"] = answer.error or "it lists no GPU"
            return None
    return None


def _amd(environment: Mapping[str, str], failures: dict[str, str]) -> _Found | None:
    asks = (
        (
            "rocm-smi",
            ("--showproductname", "--showmeminfo", "vram", "--showuniqueid", "--showdriverversion", "--json"),
            gpus.parse_rocm,
        ),
        ("amd-smi", ("static", "--asic", "--vram", "--json"), gpus.parse_amd),
    )
    for tool, arguments, parse in asks:
        answer = probe.ask_tool(tool, *arguments, environment=environment)
        if answer is None:
            continue
        try:
            found = parse(answer.text)
        except ValueError as error:
            failures[tool] = answer.error or f"its answer cannot be read: {error}"
            continue
        if found:
            return tool, found, gpus.visible_amd(found, environment)
        failures[tool] = answer.error or "it lists no GPU"
    return None


def _names_a_slice(environment: Mapping[str, str]) -> bool:
    # nvidia-smi does not list the parts of a divided card with this query; torch sees them.
    return environment.get("CUDA_VISIBLE_DEVICES", "").strip().startswith("MIG-")
