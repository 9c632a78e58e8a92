"""The manifest as far as it holds for one checkpoint, and what chosen options mean for the loop."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...mizuoto_runtime.errors import InvalidRequest
from ..base import Manifest
from .config import CheckpointConfig
from .generation import Choices, patch_budget
from .manifest import MANIFEST
from .prompt import Prompt

_FIRST_LANGUAGES = ("zh", "en")


def manifest_of(config: CheckpointConfig) -> Manifest:
    """The engine's manifest as far as it holds for one checkpoint."""
    return replace(
        MANIFEST,
        tasks=MANIFEST.tasks if config.is_second else ("tts", "clone"),
        languages=MANIFEST.languages if config.is_second else _FIRST_LANGUAGES,
        sample_rate=config.vae.out_sample_rate,
        transcript=MANIFEST.transcript if config.is_second else "needed",
    )


def choices_for(options: Mapping[str, Any], prompt: Prompt, config: CheckpointConfig) -> Choices:
    """How a take of `prompt` is made.

    Raises:
        InvalidRequest: The prompt takes all positions that the model has.
    """
    ratio, seconds = options["length_ratio"], options["max_seconds"]
    wanted = max(1, math.floor(seconds * config.patches_per_second)) if seconds else 0
    room = config.max_positions - prompt.num_positions + 1  # the last patch is not read
    if room < 1:
        raise InvalidRequest(
            f"The text and the voice take {prompt.num_positions} positions of the model and it has "
            f"{config.max_positions}; shorten the text or the reference."
        )
    return Choices(
        steps=options["steps"],
        cfg=options["cfg"],
        min_patches=options["min_patches"],
        budget=min(room, patch_budget(prompt.num_tokens, ratio, wanted)),
        too_long=prompt.num_tokens * ratio,
    )
