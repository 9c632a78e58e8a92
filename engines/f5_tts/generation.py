"""One piece of speech: from a prompt and noise to a mel spectrogram, along the talker's velocities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from ...mizuoto_runtime.nn.flow import euler, time_grid
from ...mizuoto_runtime.nn.vocos_mel import NUM_MELS
from .prompt import Prompt
from .talker import Release, Talker


@dataclass(frozen=True, slots=True)
class Choices:
    """How the talker is led from noise to speech.

    Attributes:
        steps: At least 1.
        guidance: How much the text counts; 0 for none.
        sway: See `nn.flow.time_grid`.
        release: Of the weights.
    """

    steps: int
    guidance: float
    sway: float
    release: Release


def generate(
    talker: Talker,
    prompt: Prompt,
    choices: Choices,
    generator: torch.Generator,
    check: Callable[[int], None],
    is_split: bool = False,
) -> torch.Tensor:
    """The mel spectrogram of all of the prompt's frames, [T, num_mels] float32 on the CPU.

    Frames that are kept are the reference's own.

    Args:
        talker: On the device of `generator`.
        prompt: What to say.
        choices: How.
        generator: What the noise is drawn from.
        check: Called with the number of every step before it.
        is_split: As in `Talker`.

    Source: CFM.sample, f5-tts 1.1.22.
    """
    device, dtype = generator.device, talker.dtype
    times = time_grid(choices.steps, choices.sway)
    reference = F.pad(prompt.mel, (0, 0, 0, prompt.num_frames - len(prompt.mel)))
    is_kept = F.pad(prompt.is_kept, (0, prompt.num_frames - len(prompt.is_kept)))[:, None]
    visible = torch.where(is_kept, reference, torch.zeros_like(reference))
    given = talker.conditions(
        prompt.ids.to(device), visible[None].to(device, dtype), times[:-1].to(device), choices.guidance, choices.release
    )

    def velocity(state: torch.Tensor, step: int) -> torch.Tensor:
        check(step)
        found: torch.Tensor = talker(state.to(dtype), step, given, is_split)
        return found

    noise = torch.randn(1, prompt.num_frames, NUM_MELS, generator=generator, device=device, dtype=dtype)
    mel = euler(velocity, noise.float(), times)[0].cpu()
    return torch.where(is_kept, reference, mel)
