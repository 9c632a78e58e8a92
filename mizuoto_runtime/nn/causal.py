"""Convolutions over time that never look ahead: all padding of the past is on the left, what spills over is cut."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from .. import ops


class CausalConv1d(ops.Conv1d):
    """`Conv1d` of [B, C_in, T] whose output n ends with the input's sample `(n + 1) * stride - 1`.

        padding  K - S   |  input T  |  to a whole number of strides

    Args:
        in_channels: Input channels.
        out_channels: Output channels.
        kernel_size: Taps.
        stride: Input samples an output sample; T need not be a multiple.
        dilation: Distance of the taps.
        groups: As in `nn.Conv1d`.
        bias: As in `nn.Conv1d`.
        pad_mode: "constant" (zeros) or "replicate" (the first and the last sample).

    Source: Qwen3TTSTokenizerV2CausalConvNet, qwen_tts 0.1.1; MimiConv1d with `use_causal_conv`, transformers 4.57.3.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        pad_mode: str = "constant",
    ) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, dilation=dilation, groups=groups, bias=bias)
        self.pad_mode = pad_mode
        self._past = (kernel_size - 1) * dilation + 1 - stride

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, C_in, T] -> [B, C_out, ceil(T / stride)]."""
        missing = -hidden.shape[-1] % self.stride[0]
        if self._past or missing:
            hidden = F.pad(hidden, (self._past, missing), self.pad_mode)
        return super().forward(hidden)


class CausalConvTranspose1d(ops.ConvTranspose1d):
    """`ConvTranspose1d` of [B, C_in, T] without the samples that reach beyond the input.

    Args:
        in_channels: Input channels.
        out_channels: Output channels.
        kernel_size: Taps, at least `stride`.
        stride: Output samples an input sample.

    Source: Qwen3TTSTokenizerV2CausalTransConvNet, qwen_tts 0.1.1.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        """[B, C_in, T] -> contiguous [B, C_out, T * stride]."""
        return super().forward(hidden)[..., : hidden.shape[-1] * self.stride[0]].contiguous()
