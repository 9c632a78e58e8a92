"""Voices that a model brings along, by their names: one of them, or a mixture of several."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from ..mizuoto_runtime.errors import InvalidRequest, did_you_mean
from .base import Manifest

_VOICE_NODES = {"clone": "Voice Prompt", "design": "Design Voice"}
_BETWEEN = re.compile("[+,\uff0c]")
_SHARE = re.compile(r"\s*(?P<name>[^\s:]+)\s*(?::\s*(?P<weight>\d+(?:\.\d*)?|\.\d+)\s*)?")


def find_preset(manifest: Manifest, name: str) -> str:
    """The voice called `name` as the model spells it, however it is capitalised.

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
            f'This {manifest.name} model has no voice "{name[:40]}"; {remedy}.{did_you_mean(name, manifest.voices)}'
        )
    return found


def is_mixture(text: str) -> bool:
    """Whether it is written as a mixture and not as one voice."""
    return ":" in text or _BETWEEN.search(text) is not None


def read_mixture(text: str, manifest: Manifest) -> dict[str, float]:
    """Name -> weight of what a user wrote: `af_heart`, `af_heart+am_michael`, `af_heart:0.7+am_michael:0.3`.

    A comma does as well as a plus: the kokoro package writes it so. A voice without a weight has 1, but where others
    say theirs and leave some of 1, it has that.

    Raises:
        InvalidRequest: The checkpoint has no such voice, or the weights make no sense.
    """
    found: dict[str, float | None] = {}
    for part in _BETWEEN.split(text):
        match = _SHARE.fullmatch(part)
        if match is None:
            raise InvalidRequest(
                f'"{part.strip()[:40]}" in the mixture "{text[:80]}" is no voice with a weight; write it like '
                "af_heart:0.7+am_michael:0.3."
            )
        name = find_preset(manifest, match["name"])
        if name in found:
            raise InvalidRequest(f'The mixture "{text[:80]}" names "{name}" twice; give it one weight.')
        found[name] = None if match["weight"] is None else float(match["weight"])
    return _filled(found, text)


def _filled(weights: Mapping[str, float | None], text: str) -> dict[str, float]:
    """The weights with those that nobody wrote."""
    left = 1.0 - math.fsum(weight for weight in weights.values() if weight is not None)
    unsaid = [name for name, weight in weights.items() if weight is None]
    default = left / len(unsaid) if unsaid and len(unsaid) < len(weights) and left > 0 else 1.0
    filled = {name: default if weight is None else weight for name, weight in weights.items()}
    if not math.fsum(filled.values()) > 0:
        raise InvalidRequest(f'The weights of the mixture "{text[:80]}" add up to 0; give one voice more.')
    return {name: weight for name, weight in filled.items() if weight > 0}
