"""What ComfyUI's start options mean for speech, as findings; pure functions of plain facts (K3, K9, HOST 3.7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...mizuoto_runtime.doctor import Finding
from ...mizuoto_runtime.doctor.gpus import Gpu

# Option -> (what it does to speech, how to be rid of that).
_PLAIN: dict[str, tuple[str, str]] = {
    "novram": (
        "ComfyUI lends models no device memory: all weights that can be streamed are streamed, which is slow",
        "Start ComfyUI without --novram unless the card is too small for everything else.",
    ),
    "lowvram": ("models get about half of the free memory, the rest of their weights streams", ""),
    "highvram": ("models stay on the card whole; one that does not fit fails instead of streaming", ""),
    "gpu_only": ("models stay on the card whole; one that does not fit fails instead of streaming", ""),
    "disable_smart_memory": (
        "ComfyUI unloads every model after each prompt, so that each prompt copies the weights again",
        "Start ComfyUI without --disable-smart-memory.",
    ),
    "disable_pinned_memory": ("streamed weights are copied from pageable memory, which is slower", ""),
    "disable_async_offload": ("weights are copied while nothing is computed", ""),
    "cache_none": ("every prompt loads its models from disk again", "Start ComfyUI without --cache-none."),
    "directml": ("speech has not been made to run on DirectML", 'Set the device of Load Speech Model to "cpu".'),
}
# These steer ComfyUI's own models.
_ATTENTION = (
    "use_split_cross_attention", "use_quad_cross_attention", "use_pytorch_cross_attention", "use_sage_attention",
    "use_flash_attention", "use_ck_attention",
)  # fmt: skip
OPTIONS = (*_PLAIN, *_ATTENTION, "cpu", "cuda_malloc", "fast", "reserve_vram", "deterministic", "cuda_device")
_WARNINGS = ("disable_smart_memory", "cache_none", "directml")


def findings(facts: Mapping[str, Any], gpus: Sequence[Gpu]) -> list[Finding]:
    """What to say about a running ComfyUI.

    Args:
        facts: "options", those of `OPTIONS` that are set, by name; "allocator", torch's for CUDA; "dynamic_vram",
            whether it is on, None where this ComfyUI has none.
        gpus: What the machine has.
    """
    options = facts["options"]
    found = [
        Finding("warning" if name in _WARNINGS else "info", f"{flag(name)} is set: {effect}.", "", fix)
        for name, (effect, fix) in _PLAIN.items()
        if name in options
    ]
    found += _cpu(options, gpus)
    if facts["allocator"] == "cudaMallocAsync" and any(gpu.vendor == "nvidia" for gpu in gpus):
        why = "ComfyUI uses the allocator cudaMallocAsync, under which replaying a graph reads memory that is gone."
        fix = "Start ComfyUI with --disable-cuda-malloc to allow them."
        found.append(Finding("info", "CUDA graphs stay off.", why, fix))
    found += [
        Finding("info", f"{flag(name)} is set: it holds for ComfyUI's models; speech keeps its exact attention.")
        for name in _ATTENTION
        if name in options
    ]
    if options.get("fast"):
        names = ", ".join(options["fast"])
        what = f"--fast is set ({names}): speech on the GPU may differ slightly from what its authors get."
        found.append(Finding("info", what, "It switches all of torch, not only ComfyUI's models."))
    if facts["dynamic_vram"]:
        what = (
            "Dynamic VRAM is on: image models give way to speech a page at a time and take the memory back as a whole."
        )
        found.append(Finding("info", what, "Speech models then leave the card and come back by streaming."))
    return found


def flag(name: str) -> str:
    """The option as one types it."""
    return f"--{name.replace('_', '-')}"


def _cpu(options: Mapping[str, Any], gpus: Sequence[Gpu]) -> list[Finding]:
    if "cpu" not in options:
        return []
    if not gpus:
        return [Finding("ok", "--cpu is set and there is no GPU.")]
    names = ", ".join(gpu.name for gpu in gpus)
    fix = "Start ComfyUI without --cpu."
    return [Finding("warning", "--cpu is set: speech runs on the CPU.", f"This machine has {names}.", fix)]
