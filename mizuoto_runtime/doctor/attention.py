"""Attention packages: which are installed, whether they compute, and how to install them here (S217)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path

from . import probe
from .build import TorchBuild
from .child import kernels
from .finding import Section
from .fit import python
from .gpus import Gpu

SELF_TEST_TIMEOUT_S = 120.0
# Import name -> name of the distribution, what it is called.
PACKAGES = {
    "flash_attn": ("flash-attn", "FlashAttention"),
    "xformers": ("xformers", "xFormers"),
    "sageattention": ("sageattention", "SageAttention"),
}
# The last releases that were built against torch 2.8; they exclude each other.
_FOR_TORCH_2_8 = {"flash_attn": "2.8.3", "xformers": "0.0.32.post2"}


def installed_version(distribution: str) -> str:
    """Version of an installed distribution without importing it; empty where there is none."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def attention_section(
    build: TorchBuild | None,
    gpus: Sequence[Gpu],
    self_test: bool,
    environment: Mapping[str, str] | None = None,
    version_of: Callable[[str], str] = installed_version,
) -> Section:
    """The packages, each tried on every GPU if `self_test`, in a second process."""
    versions = {name: version_of(distribution) for name, (distribution, _) in PACKAGES.items()}
    present = [name for name, version in versions.items() if version]
    devices = [gpu.device for gpu in gpus if gpu.vendor in ("nvidia", "amd")]
    results: dict[str, dict[str, str]] = {}
    if self_test and build is not None and present and devices:
        results = run_self_test(build, present, devices, environment)
    section = Section({"packages": [_row(name, versions[name], results.get(name)) for name in PACKAGES]})
    for name in present:
        _judge(section, name, versions[name], devices, results.get(name))
    if build is not None and build.release == "2.8" and set(_FOR_TORCH_2_8) <= set(present):
        section.add(
            "warning",
            "FlashAttention and xFormers are both installed beside torch 2.8.",
            "Their builds for it do not work together.",
            f"{python()} -m pip uninstall -y xformers",
        )
    if not present:
        section.add("info", "No attention package is installed; none is needed.", "torch brings its own attention.")
    if devices and build is not None:
        section.facts["install_commands"] = {
            PACKAGES[name][1]: command(name, build, environment) for name in PACKAGES if name not in present
        }
    return section


def command(name: str, build: TorchBuild, environment: Mapping[str, str] | None = None) -> str:
    """How to install the package `name` without replacing torch."""
    distribution, _ = PACKAGES[name]
    pinned = _FOR_TORCH_2_8.get(name) if build.release == "2.8" else None
    pip = f"{python()} -m pip install --no-deps"
    if name == "xformers":
        note = "" if pinned else f"  (the release made for torch {build.release}; its notes say which)"
        return f"{pip} {distribution}{f'=={pinned}' if pinned else ''}{note}"
    # Both compile against the torch that is there, which pip hides from builds unless told not to.
    missing = "" if probe.find_tool("nvcc", environment) else "  (needs CUDA's nvcc, which is not on PATH)"
    return f"{pip} --no-build-isolation {distribution}{f'=={pinned}' if pinned else ''}{missing}"


def run_self_test(
    build: TorchBuild, packages: Sequence[str], devices: Sequence[str], environment: Mapping[str, str] | None = None
) -> dict[str, dict[str, str]]:
    """Package -> device -> why it does not work there, empty where it does."""
    answer = probe.ask_python(
        Path(kernels.__file__),
        ",".join(devices),
        *packages,
        library=build.folder,
        environment=environment,
        timeout_s=SELF_TEST_TIMEOUT_S,
    )
    results: dict[str, dict[str, str]] = {package: {} for package in packages}
    for line in probe.json_lines(answer.text):
        if line.get("package") in results:
            results[line["package"]][str(line.get("device"))] = str(line.get("error"))
    # The first gap is where the process ended; what comes after it was not tried.
    gaps = [(package, device) for package in packages for device in devices if device not in results[package]]
    for index, (package, device) in enumerate(gaps):
        results[package][device] = (answer.error or "no result") if index == 0 else "not tried"
    return results


def _row(name: str, version: str, tested: Mapping[str, str] | None) -> dict[str, object]:
    row: dict[str, object] = {"name": PACKAGES[name][1], "version": version or None}
    if tested is not None:
        row["self_test"] = {device: error or "ok" for device, error in tested.items()}
    return row


def _judge(section: Section, name: str, version: str, devices: Sequence[str], tested: Mapping[str, str] | None) -> None:
    title = f"{PACKAGES[name][1]} {version}"
    if tested is None:
        why = "The self-test was not run." if devices else "There is no GPU for it."
        section.add("info", f"{title} is installed.", why)
    for device, error in (tested or {}).items():
        if not error:
            section.add("ok", f"{title} computes attention on {device}.")
        elif error == "not tried":
            section.add("info", f"{title} was not tried on {device}: the test had ended before.")
        else:
            why = "Speech does not use it then; ComfyUI may stumble over it."
            fix = f"Reinstall it for this torch, or remove it: {python()} -m pip uninstall -y {PACKAGES[name][0]}"
            section.add("warning", f"{title} fails on {device}: {error}.", why, fix)
