"""A patch out of noise: a small transformer that sees the last patch, and Euler steps along the velocity it tells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from ...mizuoto_runtime import ops
from ...mizuoto_runtime.lm.cache import KvCache
from ...mizuoto_runtime.lm.minicpm import MiniCpm
from .config import CheckpointConfig

_TIME_SCALE = 1000
_STILL = 0.04  # of the grid's points at its beginning that move nothing (CFG-Zero*)
_EPS = 1e-8


@dataclass(frozen=True, slots=True)
class Step:
    """One step that moves.

    Attributes:
        length: Of the step, 0-dimensional.
        time: What the transformer is told of the time, [2, hidden_size].
    """

    length: torch.Tensor
    time: torch.Tensor


class TimeEmbedding(nn.Module):
    """A time as a vector of the transformer's width."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.linear_1 = ops.Linear(hidden_size, hidden_size)
        self.linear_2 = ops.Linear(hidden_size, hidden_size)

    def forward(self, time: torch.Tensor) -> torch.Tensor:
        """[B] -> [B, hidden_size], all in the weights' dtype."""
        half = self.hidden_size // 2
        rates = torch.arange(half, dtype=time.dtype, device=time.device) * -(math.log(10000) / (half - 1))
        angles = _TIME_SCALE * time[:, None] * torch.exp(rates)[None]
        return self.linear_2(F.silu(self.linear_1(torch.cat((angles.sin(), angles.cos()), dim=-1))))


class LocalDit(nn.Module):
    """Noisy patch, last patch and condition -> velocity.

    Source: VoxCPMLocDiT and VoxCPMLocDiTV2, voxcpm 2.0.3.
    """

    def __init__(self, config: CheckpointConfig) -> None:
        super().__init__()
        size = config.dit.hidden_size
        self.patch_size = config.patch_size
        self.adds_time = not config.is_second
        self.mean_mode = config.mean_mode
        self.in_proj = ops.Linear(config.feat_dim, size)
        self.cond_proj = ops.Linear(config.feat_dim, size)
        self.out_proj = ops.Linear(size, config.feat_dim)
        self.time_mlp = TimeEmbedding(size)
        self.delta_time_mlp = TimeEmbedding(size)
        self.decoder = MiniCpm(config.dit)

    def steps(self, grid: torch.Tensor) -> list[Step]:
        """The steps between the points of `time_grid` that move; the same for every patch."""
        found = []
        for time, length in moving_steps(grid):
            # Two rows, as the guided pair has them: one row takes another kernel.
            delta = length if self.mean_mode else torch.zeros_like(length)
            found.append(Step(length, self.time_mlp(time.expand(2)) + self.delta_time_mlp(delta.expand(2))))
        return found

    def forward(
        self, noisy: torch.Tensor, mu: torch.Tensor, last: torch.Tensor, time: torch.Tensor, cache: KvCache
    ) -> torch.Tensor:
        """Velocity of a pair, with the condition and without, [2, feat_dim, patch_size].

        Args:
            noisy: [2, patch_size, feat_dim].
            mu: What the language models say, [2, tokens * hidden_size].
            last: The patch before, projected, [2, patch_size, hidden_size].
            time: [2, hidden_size].
            cache: A `WholeSequence`.
        """
        hidden = self.in_proj(noisy)
        lead = [(mu + time)[:, None]] if self.adds_time else [mu.view(2, -1, hidden.shape[-1]), time[:, None]]
        hidden = self.decoder(torch.cat([*lead, last, hidden], dim=1), cache)
        return self.out_proj(hidden[:, -self.patch_size :]).transpose(1, 2).contiguous()


class PatchDecoder(nn.Module):
    """Conditional flow matching of one patch with guidance.

    Source: UnifiedCFM.solve_euler, voxcpm 2.0.3.
    """

    def __init__(self, config: CheckpointConfig) -> None:
        super().__init__()
        self.estimator = LocalDit(config)

    def forward(
        self,
        mu: torch.Tensor,
        last_patch: torch.Tensor,
        noise: torch.Tensor,
        steps: Sequence[Step],
        cfg: float,
        cache: KvCache,
    ) -> torch.Tensor:
        """The next patch, [1, patch_size, feat_dim].

        Args:
            mu: [1, tokens * hidden_size].
            last_patch: [1, patch_size, feat_dim].
            noise: [1, feat_dim, patch_size].
            steps: From `LocalDit.steps`.
            cfg: Strength of the guidance.
            cache: A `WholeSequence`.
        """
        last = self.estimator.cond_proj(_pair(last_patch))
        guided_mu = torch.cat((mu, torch.zeros_like(mu)))
        state = noise
        for step in steps:
            pair = self.estimator(_pair(state.transpose(1, 2)), guided_mu, last, step.time, cache)
            state = state - step.length * guided(pair[:1], pair[1:], cfg)
        return state.transpose(1, 2)


def guided(wanted: torch.Tensor, blank: torch.Tensor, cfg: float) -> torch.Tensor:
    """Velocity led away from the one without condition, of which first the best multiple is taken (CFG-Zero*)."""
    one, other = wanted.reshape(1, -1), blank.reshape(1, -1)
    scale = (one * other).sum(dim=1, keepdim=True) / ((other**2).sum(dim=1, keepdim=True) + _EPS)
    scaled = blank * scale.view(1, 1, 1)
    return scaled + cfg * (wanted - scaled)


def time_grid(num_steps: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """[num_steps + 1] falling from 1 to 0, denser near 1; rounded in `dtype` on the way, as the publisher's is."""
    times = torch.linspace(1, 0, num_steps + 1, dtype=dtype, device=device)
    return times + (torch.cos(torch.pi / 2 * times) - 1 + times)


def moving_steps(grid: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """(time, length) of every step but the first few, which are not made: one, and 4 % of long grids."""
    num_points = len(grid)
    still = max(1, int(num_points * _STILL))
    time, length = grid[0], grid[0] - grid[1]
    found = []
    for step in range(1, num_points):
        if step > still:
            found.append((time, length))
        time = time - length  # summed up and not read from the grid, which rounds otherwise
        if step < num_points - 1:
            length = time - grid[step + 1]
    return found


def _pair(patch: torch.Tensor) -> torch.Tensor:
    return torch.cat((patch, patch))
