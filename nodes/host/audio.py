"""ComfyUI's AUDIO dictionary to and from `Audio`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from ...mizuoto_runtime.audio import Audio
from ...mizuoto_runtime.errors import InvalidRequest

_MAX_CHANNELS = 64


def to_comfy(audio: Audio) -> dict[str, Any]:
    """AUDIO with a contiguous float32 CPU waveform [1, C, T]."""
    waveform = audio.waveform.to("cpu", torch.float32).contiguous().unsqueeze(0)
    return {"waveform": waveform, "sample_rate": audio.sample_rate}


def from_comfy(audio: Mapping[str, Any] | None, name: str, max_seconds: float = math.inf) -> Audio:
    """The one recording in an AUDIO input, whatever its dtype; the input is not modified.

    Args:
        audio: `waveform` [1, C, T], [C, T] or [T], float or integer; `sample_rate` in Hz.
        name: The input's name, for messages.
        max_seconds: A longer recording is refused before anything is copied.

    Raises:
        InvalidRequest: No sound, several recordings at once, no samples, samples that are no numbers, or too many.
    """
    found = list_from_comfy(audio, name, max_seconds)
    if len(found) > 1:
        raise InvalidRequest(f'Input "{name}" has {len(found)} recordings in one batch; connect one at a time.')
    return found[0]


def list_from_comfy(audio: Mapping[str, Any] | None, name: str, max_seconds: float = math.inf) -> list[Audio]:
    """Every recording in an AUDIO input, whose `waveform` may be [B, C, T], too; otherwise as `from_comfy`.

    Raises:
        InvalidRequest: As there; `max_seconds` counts for all of them together.
    """
    if audio is None or audio.get("waveform") is None:
        raise InvalidRequest(f'Input "{name}" has no sound (a video without an audio track?); connect one that has.')
    sample_rate = _sample_rate(audio.get("sample_rate"), name)
    waveform = _batch(audio["waveform"], name)
    seconds = waveform.shape[0] * waveform.shape[-1] / sample_rate
    if seconds > max_seconds:
        raise InvalidRequest(
            f'Input "{name}" is {seconds / 60:.1f} minutes long and the limit is {max_seconds / 60:g}; cut out a part '
            "of it, with Trim Audio Duration for example."
        )
    samples = _as_float(waveform.detach())
    low, high = torch.aminmax(samples)  # of NaN both are NaN; `isfinite` would take as much memory again
    if not (math.isfinite(float(low)) and math.isfinite(float(high))):
        raise InvalidRequest(
            f'Input "{name}" contains samples that are no numbers (NaN or infinite); repair the recording.'
        )
    return [Audio(recording, sample_rate) for recording in samples]


def _sample_rate(given: Any, name: str) -> int:
    try:
        sample_rate = int(given)
    except (TypeError, ValueError, OverflowError):
        sample_rate = 0
    if sample_rate <= 0:
        raise InvalidRequest(f'Input "{name}" has a sample rate of {given} Hz; it must be positive.')
    return sample_rate


def _batch(waveform: Any, name: str) -> torch.Tensor:
    """The input's own samples, as [B, C, T]."""
    if not isinstance(waveform, torch.Tensor) or waveform.dtype.is_complex or waveform.dtype == torch.bool:
        kind = waveform.dtype if isinstance(waveform, torch.Tensor) else type(waveform).__name__
        raise InvalidRequest(f'Input "{name}" holds {kind} and no samples; connect a recording.')
    shape = tuple(waveform.shape)
    if not 1 <= len(shape) <= 3 or not waveform.numel():
        raise InvalidRequest(f'Input "{name}" has no samples (shape {shape}); connect a recording.')
    batch = waveform.reshape((1,) * (3 - len(shape)) + shape)
    if batch.shape[1] > max(_MAX_CHANNELS, batch.shape[2]):
        raise InvalidRequest(
            f'Input "{name}" has {batch.shape[1]} channels of {batch.shape[2]} samples (shape {shape}); channels come '
            "before time: repair the node that made it."
        )
    return batch


def _as_float(waveform: torch.Tensor) -> torch.Tensor:
    """A float32 copy on the CPU; integers scaled by their full range, unsigned ones centred."""
    cpu = waveform.cpu()
    if cpu.is_floating_point():
        return cpu.to(torch.float32, copy=True)
    info = torch.iinfo(cpu.dtype)
    middle = 0 if info.min < 0 else (info.max + 1) // 2
    return cpu.to(torch.float32).sub_(middle).div_(info.max + 1 - middle)
