"""Settings with where each comes from, and the memory policy that follows from them (S170, S187)."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import asdict

from ..errors import MizuotoError
from ..memory.policy import Machine, VramPolicy
from ..ram import ram_bytes
from ..residency import Limits
from ..settings import COMPUTE, TABLE, Settings, Value
from .finding import Section

PREFIX = "MIZUOTO_"
# Variables of torch and its drivers that change what runs where.
WATCHED = (
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
    "HSA_OVERRIDE_GFX_VERSION", "ONEAPI_DEVICE_SELECTOR", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF",
    "PYTORCH_ENABLE_MPS_FALLBACK", "CUDA_LAUNCH_BLOCKING", "OMP_NUM_THREADS",
)  # fmt: skip


def settings_section(
    environment: Mapping[str, str], saved: Mapping[str, Value] | None = None
) -> tuple[Section, Settings]:
    """Every setting, its value and its source; and the settings with the faulty ones left at their defaults.

    Args:
        environment: Variables.
        saved: What the user's file sets, by the keys of the table.
    """
    section, values, sources = Section(), dict(saved or {}), dict.fromkeys(saved or (), "saved")
    variables = {setting.variable: setting for setting in TABLE}
    for variable, setting in variables.items():
        if variable not in environment:
            continue
        try:
            values[setting.key] = setting.parse(environment[variable])
        except MizuotoError as error:
            effect = "No model loads until it is corrected." if setting in COMPUTE else ""
            section.add("error", str(error), effect, f"Correct or unset {variable}.")
        else:
            sources[setting.key] = variable
    for variable in sorted(environment):
        if variable.startswith(PREFIX) and variable not in variables:
            # Without the prefix, which would make all of them alike.
            near = difflib.get_close_matches(variable[len(PREFIX) :], [name[len(PREFIX) :] for name in variables], 1)
            meant = f"Did you mean {PREFIX}{near[0]}?" if near else f"There are: {', '.join(variables)}."
            section.add("warning", f"{variable} is no setting and has no effect.", "", meant)
    section.facts["settings"] = [
        {
            "name": setting.key.removeprefix("compute."),
            "value": values.get(setting.key, setting.default),
            "source": sources.get(setting.key, "default"),
        }
        for setting in TABLE
    ]
    section.facts["environment"] = {name: environment[name] for name in WATCHED if name in environment}
    return section, Settings.of(values)


def memory_section(
    settings: Settings, host_mode: str | None, host_facts: Mapping[str, object], shares_memory: bool = False
) -> Section:
    """The policy that the next load will follow.

    Args:
        settings: What the user has set.
        host_mode: The mode that ComfyUI's state stands for; None stand-alone.
        host_facts: What else ComfyUI decides: copy streams, the budget for pinned memory.
        shares_memory: Whether the GPU's memory is the machine's (MPS).
    """
    total, free = ram_bytes()
    section = Section()
    policy = VramPolicy.of(settings, host_mode or "auto", Machine(shares_memory, free or 0, total or 0))
    section.facts |= asdict(policy)
    where = "settings" if settings.vram_mode != "host" else "ComfyUI" if host_mode else "default"
    section.facts |= {"mode_from": where, "ram_bytes": total, "ram_free_bytes": free, **host_facts}
    limits = Limits.of(settings, host_mode is not None)
    section.facts |= {"max_resident_models": limits.max_models, "unload_after_minutes": limits.idle_s / 60}
    section.facts |= {"oom_retries": settings.oom_retries, "oom_fallback": settings.oom_fallback}
    _explain(section, policy.mode, settings)
    return section


def _explain(section: Section, mode: str, settings: Settings) -> None:
    if settings.oom_retries == 0:
        section.add("info", "A phase that runs out of device memory is not tried again: its retries are set to 0.")
    if settings.oom_fallback:
        what = "After failed retries a phase may run in a slower form whose sound differs slightly."
        section.add("info", what, "The setting oom_fallback is on.")
    if mode == "none":
        section.add("info", "All weights that can be streamed are streamed: it needs least memory and is slowest.")
    if mode == "high":
        section.add("info", "Models are placed whole or not at all.", "One that is larger than the card fails.")
