"""Making voices: from a recording, from a name, from a description. Checks what every engine would have to check."""

from __future__ import annotations

from typing import cast

import torch

from ..mizuoto_runtime.audio import Audio
from ..mizuoto_runtime.context import RequestContext
from ..mizuoto_runtime.errors import InvalidRequest, did_you_mean
from .artifacts import VoicePrompt
from .base import CanCloneVoice, CanDesignVoice, LoadedEngine, Manifest, require_task
from .reference import check_reference

_VOICE_NODES = {"clone": "Voice Prompt", "design": "Design Voice"}


def preset_voice(manifest: Manifest, name: str) -> VoicePrompt:
    """The preset called `name`, however it is capitalised.

    Raises:
        InvalidRequest: The checkpoint of `manifest` has no such voice.
    """
    found = next((voice for voice in manifest.voices if voice.casefold() == name.casefold()), None)
    if found is None:
        remedy = f"it has {', '.join(manifest.voices)}"
        if not manifest.voices:
            others = [node for task, node in _VOICE_NODES.items() if task in manifest.tasks]
            remedy = f"it brings none along: connect a {' or '.join(others)} node" if others else "it brings none along"
        raise InvalidRequest(
            f'This {manifest.name} model has no voice "{name}"; {remedy}.{did_you_mean(name, manifest.voices)}'
        )
    return VoicePrompt(manifest.id, found)


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
