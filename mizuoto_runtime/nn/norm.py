"""Root mean square normalisation."""

from __future__ import annotations

import torch
from torch import nn


class RMSNorm(nn.Module):
    """The last dimension over its root mean square, times a learned weight.

    The mean is taken in float32; half precision is restored before the weight is applied.

    Source: Qwen3RMSNorm, transformers 4.57.3.
    """

    def __init__(self, hidden_size: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.empty(hidden_size))
        # Constants as tensors: every Python number in an operation costs a conversion, and norms are half of a step's.
        self._eps = torch.tensor(eps, dtype=torch.float32, device="cpu")
        self._size = torch.tensor(hidden_size, dtype=torch.float32, device="cpu")

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """`hidden` [..., hidden_size] normalised, in its own dtype."""
        is_half = hidden.dtype != torch.float32
        wide = hidden.float() if is_half else hidden
        if wide.device.type == "cpu":
            squares = (wide * wide).sum(-1, keepdim=True)
            scale = torch.addcdiv(self._eps, squares, self._size).rsqrt_()  # the mean's bits in half its time
        else:
            scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        normed = wide * scale
        return self.weight * (normed.to(hidden.dtype) if is_half else normed)
