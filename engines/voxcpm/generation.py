"""The loop that makes patches until the model says that the take is over, or the take has used up its patches."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from ...mizuoto_runtime.errors import EngineError
from .diffusion import time_grid
from .prompt import Prompt
from .talker import Talker

EOS, BUDGET = "eos", "budget"
MAX_PATCHES = 4096  # the publisher's own limit of a take
_SPARE_PATCHES = 10
_USUAL_RATIO = 2.0  # patches that a token of usual speech hardly exceeds


@dataclass(frozen=True, slots=True)
class Choices:
    """How a take is made.

    Attributes:
        steps: Of the diffusion.
        cfg: Strength of the guidance.
        min_patches: The end is no option before so many patches and two more.
        budget: Most patches.
        too_long: From so many patches on, the take is a bad one.
    """

    steps: int
    cfg: float
    min_patches: int
    budget: int
    too_long: float


@dataclass(frozen=True, slots=True)
class Take:
    """What became of one text.

    Attributes:
        patches: [T, patch_size, feat_dim] float32 on the CPU.
        ending: EOS or BUDGET.
    """

    patches: torch.Tensor
    ending: str


def patch_budget(num_tokens: int, ratio: float, max_patches: int) -> int:
    """Most patches of a take, and at least one: so many for each token, or what the user sets.

    Args:
        num_tokens: Length of the text.
        ratio: Patches for each token.
        max_patches: The user's limit; 0 leaves it to the text.
    """
    if max_patches:
        return min(MAX_PATCHES, max_patches)
    return min(MAX_PATCHES, int(num_tokens * ratio + _SPARE_PATCHES))


def usual_patches(num_tokens: int, budget: int) -> int:
    """Patches that a take of so many tokens hardly exceeds, and never more than its budget."""
    return min(budget, math.ceil(_USUAL_RATIO * num_tokens) + _SPARE_PATCHES)


def generate(
    talker: Talker,
    prompt: Prompt,
    choices: Choices,
    generator: torch.Generator,
    device: torch.device,
    check: Callable[[int], None],
) -> Take:
    """One take of a prompt.

    Args:
        talker: Ready on `device`.
        prompt: What is said.
        choices: How.
        generator: Of the noise of every patch; on `device`.
        device: Where the work happens.
        check: Called once a patch with the number of patches made so far; may raise to cancel.

    Raises:
        EngineError: The model's numbers overflowed.
    """
    config, dtype = talker.config, talker.dtype
    shape = (1, config.feat_dim, config.patch_size)
    steps = talker.feat_decoder.estimator.steps(time_grid(choices.steps, dtype, device))
    state = talker.read(prompt, usual_patches(prompt.num_tokens, choices.budget), device)
    made: list[torch.Tensor] = []
    ending = BUDGET
    while True:
        check(len(made))
        noise = torch.randn(shape, generator=generator, device=device, dtype=dtype)
        patch = talker.next_patch(state, noise, steps, choices.cfg)
        made.append(patch)
        # What tells of the end is the state before the patch, which is said all the same.
        if len(made) - 1 > choices.min_patches and talker.wants_to_stop(state):
            ending = EOS
            break
        if len(made) == choices.budget:
            break
        talker.hear(state, patch)
    patches = torch.cat(made).float().cpu()
    if not patches.isfinite().all():
        raise EngineError(
            f"The model's numbers overflowed in {str(dtype).removeprefix('torch.')}, so there is no speech; "
            "load it with dtype bf16 or fp32."
        )
    return Take(patches, ending)
