"""Changing the sample rate as torchaudio does, for models that were trained behind it.

`resample` is the better filter; this one has the bits.
"""

from __future__ import annotations

import math
from functools import lru_cache

import torch
import torch.nn.functional as F

_ZEROS = 6  # of the sinc on each side that the window keeps
_ROLLOFF = 0.99  # of the lower Nyquist frequency


def sinc_resample(
    waveform: torch.Tensor, source_hz: int, target_hz: int, kernel_dtype: torch.dtype = torch.float32
) -> torch.Tensor:
    """`waveform` at another rate, [B, T] -> [B, about T * target_hz / source_hz] in its own dtype and place.

    Args:
        waveform: Returned as it is where the rates are equal.
        source_hz: Its rate.
        target_hz: The rate wanted.
        kernel_dtype: What the filter is computed in: float32 as `torchaudio.functional.resample` does for a float32
            waveform, float64 as `torchaudio.transforms.Resample` does.

    Source: torchaudio 2.11.1, functional/functional.py, with the default Hann window.
    """
    if source_hz == target_hz:
        return waveform
    divisor = math.gcd(source_hz, target_hz)
    source, target = source_hz // divisor, target_hz // divisor
    kernel, width = _kernel(source, target, kernel_dtype)
    padded = F.pad(waveform, (width, width + source))
    found = F.conv1d(padded[:, None], kernel.to(waveform), stride=source)
    found = found.transpose(1, 2).reshape(waveform.shape[0], -1)
    # The length is rounded up in float32, as it is there: another integer for some long recordings.
    length = int(torch.ceil(torch.as_tensor(target * waveform.shape[-1] / source)))
    return found[..., :length]


@lru_cache(maxsize=8)
def _kernel(source: int, target: int, dtype: torch.dtype) -> tuple[torch.Tensor, int]:
    """The filter of every phase, [target, 1, taps], and how many samples it reaches back."""
    base = min(source, target) * _ROLLOFF
    width = math.ceil(_ZEROS * source / base)
    taps = torch.arange(-width, width + source, dtype=dtype)[None, None] / source
    # A range of integers, divided in the default dtype, is what is added to the float64 taps there.
    phases = torch.arange(0, -target, -1, dtype=None if dtype == torch.float64 else dtype)[:, None, None] / target
    time = ((phases + taps) * base).clamp(-_ZEROS, _ZEROS)
    window = torch.cos(time * math.pi / _ZEROS / 2) ** 2
    time = time * math.pi
    kernel = torch.where(time == 0, torch.ones((), dtype=dtype), time.sin() / time)
    return kernel * (window * (base / source)), width
