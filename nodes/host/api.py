"""The one import of ComfyUI's node API, and the pack's socket types."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from comfy_api.latest import ComfyExtension, io

CATEGORY = "audio/tts/Mizuoto"

ModelSocket = io.Custom("MIZUOTO_MODEL")
VoiceSocket = io.Custom("MIZUOTO_VOICE")
OptionsSocket = io.Custom("MIZUOTO_OPTIONS")
CodesSocket = io.Custom("MIZUOTO_CODES")
VoiceBankSocket = io.Custom("MIZUOTO_VOICES")
TranscriptSocket = io.Custom("MIZUOTO_TRANSCRIPT")

_SCHEMA_FIELDS = frozenset(field.name for field in fields(io.Schema))


def schema(node_id: str, display_name: str, search_aliases: tuple[str, ...] = (), **parts: Any) -> io.Schema:
    """The schema of one of the pack's nodes.

    Args:
        node_id: Prefixed with `Mizuoto`; saved workflows refer to it, so it is never renamed.
        display_name: The node's title; the front end puts a badge with the pack's name beside it.
        search_aliases: What people may type to find it; used where this ComfyUI knows them (0.11 on).
        parts: Whatever else `io.Schema` takes.
    """
    if "search_aliases" in _SCHEMA_FIELDS:
        parts["search_aliases"] = list(search_aliases)
    return io.Schema(node_id=node_id, display_name=display_name, category=CATEGORY, **parts)


__all__ = [
    "CodesSocket",
    "ComfyExtension",
    "ModelSocket",
    "OptionsSocket",
    "TranscriptSocket",
    "VoiceBankSocket",
    "VoiceSocket",
    "io",
    "schema",
]
