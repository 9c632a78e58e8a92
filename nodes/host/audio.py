"""ComfyUI's AUDIO dictionary to and from `Audio`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from ...mizuoto_runtime.audio import Audio
from ...mizuoto_runtime.errors import InvalidRequest


def to_comfy(audio: Audio) -> dict[str, Any]:
    """AUDIO with a contiguous float32 CPU waveform [1, C, T]."""
    waveform = audio.waveform.to("cpu", torch.float32).contiguous().unsqueeze(0)
    return {"waveform": waveform, "sample_rate": audio.sample_rate}


def from_comfy(audio: Mapping[str, Any] | None, name: str) -> Audio:
    """The one recording in an AUDIO input, whatever its dtype; the input is not modified.

    Args:
        audio: `waveform` [1, C, T], [C, T] or [T], float or integer; `sample_rate` in Hz.
        name: The input's name, for messages.

    Raises:
        InvalidRequest: No sound, several recordings at once, no samples, or samples that are no numbers.
    """
    if audio is None or audio.get("waveform") is None:
        raise InvalidRequest(f'Input "{name}" has no sound (a video without an audio track?); connect one that has.')
    waveform, sample_rate = audio["waveform"], int(audio["sample_rate"])
    if waveform.dim() == 1:
        waveform = waveform.unsqueeze(0)
    if waveform.dim() == 3:
        if waveform.shape[0] != 1:
            raise InvalidRequest(
                f'Input "{name}" has {waveform.shape[0]} recordings in one batch; connect one at a time.'
            )
        waveform = waveform[0]
    if waveform.dim() != 2 or not waveform.numel():
        raise InvalidRequest(
            f'Input "{name}" has no samples (shape {tuple(audio["waveform"].shape)}); connect a recording.'
        )
    if sample_rate <= 0:
        raise InvalidRequest(f'Input "{name}" has a sample rate of {sample_rate} Hz; it must be positive.')
    samples = _as_float(waveform.detach())
    if not torch.isfinite(samples).all():
        raise InvalidRequest(
            f'Input "{name}" contains samples that are no numbers (NaN or infinite); repair the recording.'
        )
    return Audio(samples, sample_rate)


def _as_float(waveform: torch.Tensor) -> torch.Tensor:
    """Float32 on the CPU; integers scaled by their full range, unsigned ones centred."""
    cpu = waveform.cpu()
    if cpu.is_floating_point():
        return cpu.to(torch.float32, copy=True)
    info = torch.iinfo(cpu.dtype)
    middle = 0 if info.min < 0 else (info.max + 1) // 2
    return ((cpu.to(torch.float64) - middle) / (info.max + 1 - middle)).to(torch.float32)
