"""Layers that are built without drawing or writing a single random number.

Engines take their layers from here instead of `torch.nn`, so that building a model costs no time and touches no
random generator (S027, S028); real values come from the checkpoint, or from `init_random` in tests.
"""

from __future__ import annotations

import torch
from torch import nn


class _NoInit:
    """Leaves freshly allocated parameters as they are."""

    def reset_parameters(self) -> None:
        """Do nothing: the checkpoint overwrites every value."""


class Linear(_NoInit, nn.Linear):
    """`nn.Linear` without initialisation."""


class Conv1d(_NoInit, nn.Conv1d):
    """`nn.Conv1d` without initialisation."""


class Conv2d(_NoInit, nn.Conv2d):
    """`nn.Conv2d` without initialisation."""


class ConvTranspose1d(_NoInit, nn.ConvTranspose1d):
    """`nn.ConvTranspose1d` without initialisation."""


class LayerNorm(_NoInit, nn.LayerNorm):
    """`nn.LayerNorm` without initialisation."""


class LSTM(_NoInit, nn.LSTM):
    """`nn.LSTM` without initialisation."""


class Embedding(_NoInit, nn.Embedding):
    """`nn.Embedding` without initialisation."""


def init_random(module: nn.Module, generator: torch.Generator, std: float = 0.05) -> None:
    """Fill every floating-point parameter with normal noise, in place; for tests that need real weights (S030).

    Args:
        module: Its parameters are overwritten; vectors named like norm weights get values around one.
        generator: The only source of randomness.
        std: Standard deviation of the noise.
    """
    for name, parameter in module.named_parameters():
        noise = torch.empty(parameter.shape).normal_(0.0, std, generator=generator)
        if parameter.dim() == 1 and name.endswith("weight"):
            noise += 1.0
        with torch.no_grad():
            parameter.copy_(noise)
