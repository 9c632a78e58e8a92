"""Making voices: from a recording, from a name, from a description. Checks what every engine would have to check."""

from __future__ import annotations

from typing import cast

import torch

from ..mizuoto_runtime.audio import Audio
from ..mizuoto_runtime.context import RequestContext
from ..mizuoto_runtime.errors import InvalidRequest
from .artifacts import VoicePrompt
from .base import CanCloneVoice, CanDesignVoice, LoadedEngine, Manifest, require_task
from .presets import find_preset, is_mixture, read_mixture
from .reference import check_reference


def preset_voice(manifest: Manifest, name: str) -> VoicePrompt:
    """The preset called `name`, however it is capitalised, or a mixture of several if the engine mixes voices.

    Raises:
        InvalidRequest: The checkpoint of `manifest` has no such voice, or the mixture makes no sense.
    """
    if manifest.mixes_voices and is_mixture(name):
        read_mixture(name, manifest)
        return VoicePrompt(manifest.id, name.strip())
    return VoicePrompt(manifest.id, find_preset(manifest, name))


def clone_voice(
    engine: LoadedEngine, reference: Audio, transcript: str | None, name: str, ctx: RequestContext
) -> VoicePrompt:
    """A voice from a recording and, if known, the words in it.

    Raises:
        Unsupported: The model clones no voices.
        InvalidRequest: The recording is silent, too short or too long for the engine.
    """
    require_task(engine.manifest, "clone")
    mono = check_reference(reference, engine.manifest)
    with torch.inference_mode():
        voice = cast(CanCloneVoice, engine).voice_prompt(mono, transcript, ctx)
    return VoicePrompt(voice.engine, name or voice.name, voice.tensors, voice.facts)


def design_voice(engine: LoadedEngine, description: str, ctx: RequestContext) -> VoicePrompt:
    """A voice from words about it.

    Raises:
        Unsupported: The model designs no voices.
        InvalidRequest: There are no words.
    """
    require_task(engine.manifest, "design")
    if not description.strip():
        raise InvalidRequest("The description of the voice is empty; write what it sounds like.")
    with torch.inference_mode():
        return cast(CanDesignVoice, engine).design_voice(description.strip(), ctx)
