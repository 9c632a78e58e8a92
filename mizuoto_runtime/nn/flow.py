"""Flow matching: from noise to data along a learnt velocity field, in steps of a time from 0 to 1."""

from __future__ import annotations

from collections.abc import Callable

import torch

# Steps -> times in 32nds: where a coarse grid should look more often, found by experiment ("EPSS" of F5-TTS).
PRUNED_GRIDS = {
    5: (0, 2, 4, 8, 16, 32),
    6: (0, 2, 4, 6, 8, 16, 32),
    7: (0, 2, 4, 6, 8, 16, 24, 32),
    10: (0, 2, 4, 6, 8, 12, 16, 20, 24, 28, 32),
    12: (0, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32),
    16: (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32),
}


def time_grid(steps: int, sway: float = 0.0, is_pruned: bool = True) -> torch.Tensor:
    """[steps + 1] float32 on the CPU, rising from 0 to 1.

    Args:
        steps: At least 1.
        sway: Below 0 there are more steps near 0, where the noise takes shape, above 0 fewer; -1 to 1.
        is_pruned: Use the grid of `PRUNED_GRIDS` where there is one; every other is even.

    Source: get_epss_timesteps and CFM.sample, f5-tts 1.1.22.
    """
    if is_pruned and steps in PRUNED_GRIDS:
        times = 1 / 32 * torch.tensor(PRUNED_GRIDS[steps], dtype=torch.float32, device="cpu")
    else:
        times = torch.linspace(0, 1, steps + 1, dtype=torch.float32, device="cpu")
    return times + sway * (torch.cos(torch.pi / 2 * times) - 1 + times)


def guided(wanted: torch.Tensor, blank: torch.Tensor, strength: float) -> torch.Tensor:
    """Velocity with the condition, led away from the one without: 0 changes nothing."""
    return wanted + (wanted - blank) * strength


def euler(field: Callable[[torch.Tensor, int], torch.Tensor], state: torch.Tensor, times: torch.Tensor) -> torch.Tensor:
    """Where `state` is at the last of `times`, in its own dtype.

    Args:
        field: (state, number of the step) -> velocity there.
        state: At the first of `times`; left as it is.
        times: From `time_grid`.

    Source: odeint with "euler", torchdiffeq 0.2.5.
    """
    # Not add(alpha=), which rounds once instead of twice.
    for step, length in enumerate((times[1:] - times[:-1]).tolist()):
        state = state + length * field(state, step).to(state.dtype)
    return state
