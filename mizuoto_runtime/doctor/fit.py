"""Does the installed torch fit the hardware, and which command makes it fit (S019, S094)."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Mapping, Sequence

from .build import TorchBuild
from .finding import Section
from .gpus import Gpu
from .hardware import Hardware
from .requirements import (
    BLACKWELL,
    BLACKWELL_TOOLKIT,
    CUDA_BLACKWELL,
    CUDA_NEWEST,
    CUDA_OLDEST,
    OLDEST_DRIVER,
    TURING,
    VARIANTS,
)

_VENDOR_KINDS = {"nvidia": "cuda", "amd": "rocm", "intel": "xpu", "apple": "mps"}
_KIND_NAMES = {"cuda": "CUDA", "rocm": "ROCm", "xpu": "XPU", "mps": "MPS", "cpu": "the CPU only"}
_VENDOR_NAMES = {"nvidia": "an NVIDIA card", "amd": "an AMD card", "intel": "Intel graphics"}


def variant(gpus: Sequence[Gpu]) -> str:
    """The variant of torch for `gpus` as the selector on pytorch.org names it; "CPU" without a GPU."""
    vendor = gpus[0].vendor if gpus else ""
    if vendor != "nvidia":
        return VARIANTS.get(vendor, "CPU")
    drivers = [_major(gpu.driver) for gpu in gpus if gpu.driver]
    capabilities = [gpu.capability for gpu in gpus if gpu.capability is not None]
    new_driver = not drivers or min(drivers) >= OLDEST_DRIVER[13]
    if new_driver and (not capabilities or min(capabilities) >= TURING):
        return CUDA_NEWEST
    return CUDA_BLACKWELL if capabilities and max(capabilities) >= BLACKWELL else CUDA_OLDEST


def install_command(gpus: Sequence[Gpu], build: TorchBuild | None) -> str:
    """The command that installs the torch for `gpus` with this interpreter."""
    wanted = variant(gpus)
    pip = f"{python()} -m pip install"
    # To pip "2.13.0+cu130" is newer than "2.13.0+cpu", but no other change of variant is an upgrade.
    how = " --upgrade" if build is None or build.kind == "cpu" else " --force-reinstall"
    if wanted == "Default":
        return f"{pip}{how} torch"
    if gpus and gpus[0].vendor == "amd" and platform.system() == "Windows":
        return f"{pip}{how} torch, with the index that AMD's guide to PyTorch on Windows names for this card"
    return f'{pip}{how} torch --index-url <the address that the selector on pytorch.org shows for "{wanted}">'


def python() -> str:
    """This interpreter, quoted for the system's shell."""
    path = sys.executable or "python"
    if platform.system() == "Windows":
        return f'"{path}"' if " " in path else path
    return shlex.quote(path)


def hardware_section(hardware: Hardware, environment: Mapping[str, str]) -> Section:
    """The GPUs, and what keeps them from being used before torch comes into it."""
    rows = [
        {name: value for name in Gpu.__slots__ if (value := getattr(gpu, name)) not in ("", 0, None)}
        for gpu in hardware.gpus
    ]
    section = Section({"gpus": rows, "found_by": hardware.found_by or "nothing found"})
    for program, why in hardware.failures.items():
        section.add("warning", f"{program} gives no answer: {why}.", "Its driver may be missing or broken.")
    if hardware.hidden:
        names = ", ".join(gpu.name for gpu in hardware.hidden)
        variables = [name for name in environment if name.endswith("_VISIBLE_DEVICES")]
        level = "info" if hardware.gpus else "warning"
        settings = " and ".join(f"{name}={environment[name]}" for name in sorted(variables))
        section.add(level, f"Hidden: {names}.", f"{settings} is set.", "Unset it to use all cards.")
    mixed = len({gpu.name for gpu in hardware.gpus}) > 1 and hardware.found_by == "nvidia-smi"
    if mixed and environment.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID":
        section.add(
            "warning",
            "torch may number these cards in another order than this list.",
            "nvidia-smi goes by the bus; CUDA puts the fastest first unless it is told otherwise.",
            "Set CUDA_DEVICE_ORDER=PCI_BUS_ID before starting.",
        )
    undriven = sorted(hardware.cards - {gpu.vendor for gpu in (*hardware.gpus, *hardware.hidden)})
    if not hardware.gpus and not hardware.hidden and undriven:
        names = " and ".join(_VENDOR_NAMES[vendor] for vendor in undriven)
        # Integrated graphics are everywhere: only the others are worth a warning.
        level = "info" if undriven == ["intel"] else "warning"
        fix = "If it is meant to compute, install its driver and the torch for it."
        section.add(level, f"There is {names} on the bus, but no driver answers for it.", "", fix)
    elif not hardware.gpus and not hardware.hidden:
        section.add("info", "No GPU was found: speech runs on the CPU.")
    return section


def torch_section(
    build: TorchBuild | None, hardware: Hardware, is_loaded: bool, seen: list[Gpu] | str | None
) -> Section:
    """The installed torch against the hardware.

    Args:
        build: What is installed.
        hardware: What there is.
        is_loaded: Whether this process has imported it.
        seen: What torch in a second process sees, or why it could not say; None when it was not asked.
    """
    command = install_command(hardware.gpus, build)
    if build is None:
        section = Section({"version": None, "suitable": variant(hardware.gpus)})
        section.add("error", "torch is not installed for this Python.", "Nothing can speak without it.", command)
        return section
    facts = {"version": build.version, "built_for": build.kind, "toolkit": build.toolkit, "loaded": is_loaded}
    section = Section({name: value for name, value in facts.items() if value != ""})
    section.facts["suitable"] = variant(hardware.gpus)
    if not _kinds(section, build, hardware, command):
        return section
    if isinstance(seen, str):
        section.add("error", f"torch does not start: {seen}.", "The installation is damaged or incomplete.", command)
    elif seen is not None and len(seen) < len(hardware.gpus):
        section.add(
            "error",
            f"torch sees {len(seen)} of {len(hardware.gpus)} GPUs.",
            "Driver and library do not fit each other, or the device files are not accessible to this user.",
            "Update the driver and restart; in a container, start it with access to the GPUs.",
        )
    elif hardware.gpus:
        on = ", ".join(gpu.device for gpu in hardware.gpus)
        section.add("ok", f"torch {build.version} fits the hardware and can use {on}.")
    else:
        section.add("ok", f"torch {build.version} runs on the CPU.")
    _remarks(section, build)
    return section


def _kinds(section: Section, build: TorchBuild, hardware: Hardware, command: str) -> bool:
    """Add what is wrong with the kind of build; whether it suits the first GPU."""
    if not hardware.gpus:
        if build.kind in ("cuda", "rocm", "xpu") and not hardware.hidden:
            section.add(
                "info", f"torch is built for {_KIND_NAMES[build.kind]}, but no such device was found; it uses the CPU."
            )
        return True
    gpu = hardware.gpus[0]
    wanted = _VENDOR_KINDS[gpu.vendor]
    if build.kind != wanted:
        what = f"torch {build.version} is built for {_KIND_NAMES[build.kind]} and cannot use {gpu.name}."
        section.add("warning", what, "Speech works, but on the CPU, which is slower.", command)
        return False
    return wanted != "cuda" or _cuda_fits(section, build, hardware.gpus, command)


def _cuda_fits(section: Section, build: TorchBuild, gpus: Sequence[Gpu], command: str) -> bool:
    cuda = tuple(int(part) for part in build.toolkit.split(".")[:2] if part)
    fits = True
    for gpu in gpus:
        oldest = OLDEST_DRIVER.get(cuda[0] if cuda else 0, 0)
        if gpu.driver and _major(gpu.driver) < oldest:
            why = f"Its driver is {gpu.driver}; a torch for CUDA {build.toolkit} needs {oldest} or newer."
            section.add("error", f"torch cannot use {gpu.name}.", why, f"Update the driver, or: {command}")
            return False
        capability = gpu.capability
        if capability is None:
            continue
        if cuda >= (13,) and capability < TURING:
            why = f"CUDA 13 no longer knows cards of compute capability {gpu.architecture}."
        elif cuda < BLACKWELL_TOOLKIT and capability >= BLACKWELL:
            why = f"Cards of compute capability {gpu.architecture} need a torch for CUDA 12.8 or newer."
        else:
            continue
        section.add("error", f"torch {build.version} has no code for {gpu.name}.", why, command)
        fits = False
    return fits


def _remarks(section: Section, build: TorchBuild) -> None:
    if build.kind in ("rocm", "xpu", "mps"):
        section.add("info", f"{_KIND_NAMES[build.kind]} has not been tested by this project on real hardware.")
    if build.kind == "mps":
        section.add(
            "info",
            "On MPS torch.compile has no effect.",
            "Operations that MPS lacks fail unless torch may run them on the CPU.",
            "If one is reported missing, set PYTORCH_ENABLE_MPS_FALLBACK=1 before starting.",
        )


def _major(version: str) -> int:
    first = version.split(".")[0]
    return int(first) if first.isdigit() else 0
