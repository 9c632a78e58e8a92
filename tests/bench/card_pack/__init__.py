"""A pack for a ComfyUI started with --cpu: gives it a small card that its CPU plays, and shows the codes of a take.

The card is the device "cpu:0", as in `tests/host/card.py`: ComfyUI does not take it for its CPU, and our runtime counts
what is on it. ComfyUI's own models are not counted: there are none.
"""

import hashlib
import json
import sys

import comfy.model_management as mm
import torch

CARD, CPU = torch.device("cpu", 0), torch.device("cpu")
RESERVE_BYTES = 16 << 20


def _module(name):
    """The module of our pack, which ComfyUI imports under a name of its choosing."""
    return next(module for found, module in sys.modules.items() if found.endswith(f".{name}"))


def _card():
    return _module("nodes.host.session").runtime().devices.simulated[CARD]


def _free(device=None, torch_free_too=False):
    free = _card().free_bytes if device in (None, CARD) else 64 << 30
    return (free, 0) if torch_free_too else free


class Card:
    """Makes the card of so many megabytes ComfyUI's device, for the rest of its life; gives its size back."""

    CATEGORY, FUNCTION, RETURN_TYPES = "mizuoto/bench", "run", ("STRING",)

    @classmethod
    def INPUT_TYPES(cls):  # noqa: N802
        return {"required": {"size_mb": ("INT", {"default": 1024, "max": 1 << 20})}}

    def run(self, size_mb):
        simulated = _module("mizuoto_runtime.simulate").SimulatedDevice(size_mb << 20)
        _module("nodes.host.session").runtime().devices.simulated[CARD] = simulated
        mm.vram_state = mm.VRAMState.NORMAL_VRAM
        mm.is_device_cpu = lambda device: device == CPU
        mm.get_torch_device = lambda: CARD
        mm.get_free_memory = _free
        mm.minimum_inference_memory = mm.extra_reserved_memory = lambda: RESERVE_BYTES
        mm.soft_empty_cache = lambda force=False: None
        if hasattr(mm, "get_all_torch_devices"):
            mm.get_all_torch_devices = lambda exclude_current=False: [CARD]
        return (str(simulated.total_bytes),)


class CodesOf:
    """What a Talker made, as JSON: frames, their hash, and the most that was on the card, None without one."""

    CATEGORY, FUNCTION, RETURN_TYPES = "mizuoto/bench", "run", ("STRING",)

    @classmethod
    def INPUT_TYPES(cls):  # noqa: N802
        return {"required": {"codes": ("MIZUOTO_CODES",)}}

    def run(self, codes):
        frames = torch.cat([segment.tensors["codes"] for segment in codes.segments])
        digest = hashlib.sha256(frames.contiguous().numpy().tobytes()).hexdigest()
        card = _module("nodes.host.session").runtime().devices.simulated.get(CARD)
        return (json.dumps({"frames": len(frames), "sha256": digest, "card_peak": card and card.peak_bytes}),)


NODE_CLASS_MAPPINGS = {"MizuotoBenchCard": Card, "MizuotoBenchCodes": CodesOf}
