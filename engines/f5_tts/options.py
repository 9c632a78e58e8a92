"""What the options mean: for the way from noise to speech, and for an edit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...mizuoto_runtime.context import RequestContext
from ...mizuoto_runtime.text.languages import choose_language
from .files import V0, V1
from .generation import Choices
from .manifest import AUTO
from .prompt import Edit
from .talker import Release

RELEASES: Mapping[str, Release] = {V0: Release(False, 1), V1: Release(True, None)}
"""Source: F5TTS_Base.yaml and F5TTS_v1_Base.yaml, f5-tts 1.1.22."""

_LEAST_GUIDANCE = 1e-5


def choices_for(options: Mapping[str, Any], told: str | None, name: str, ctx: RequestContext) -> Choices:
    """How the talker is led; a release that had to be guessed is a warning.

    Args:
        options: Resolved.
        told: The release that the model's name tells, if it does.
        name: Of the model.
        ctx: The request.
    """
    choose_language(str(options["language"]))  # which the model is not told; it must be one for the numbers' sake
    version = options["version"]
    if version == AUTO:
        version = told or V1
        if told is None:
            ctx.report.warn(
                "version",
                f'The name "{name}" does not say if it is v0 or v1; took {V1}. If it mumbles, choose {V0}.',
            )
    ctx.report.params["version"] = version
    guidance = options["cfg"] if options["cfg"] >= _LEAST_GUIDANCE else 0.0
    return Choices(options["steps"], guidance, options["sway"], RELEASES[version])


def edit_of(options: Mapping[str, Any]) -> Edit | None:
    """The part of the reference to say anew; None for speech that goes on after it."""
    start, end = options["edit_start"], options["edit_end"]
    return Edit(start, end, options["edit_seconds"] or end - start) if end else None
