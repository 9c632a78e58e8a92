"""Finished segments of the node that is running now: sent to the front end that waits, which plays them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ...mizuoto_runtime.context import RequestContext
from ...mizuoto_runtime.spoken import SpokenSegment
from .sounds import Listener, SoundFiles, find_listener

log = logging.getLogger("mizuoto.preview")

EVENT = "mizuoto.segment"


def segment_hook() -> Callable[[SpokenSegment], None] | None:
    """`on_segment` of the node that is running now; None where its prompt names no client."""
    listener = find_listener()
    return None if listener is None else _Preview(listener)


def speech_ui(ctx: RequestContext) -> dict[str, Any]:
    """For a node's `ui` output: the segments that its client was told, to play that run again; often none."""
    told = ctx.on_segment.told if isinstance(ctx.on_segment, _Preview) else []
    return {"mizuoto_speech": [{"segments": told}]} if told else {}


class _Preview:
    """Shows how far a node is and puts each segment where its client can fetch it, while that one is connected.

    Attributes:
        told: What the client was told of each segment.
    """

    def __init__(self, listener: Listener) -> None:
        self.told: list[dict[str, Any]] = []
        self._listener = listener
        self._files = SoundFiles(listener)
        self._is_broken = False

    def __call__(self, segment: SpokenSegment) -> None:
        """Tell of one segment; whatever goes wrong with its file is logged and no more."""
        if not self._listener.is_connected:
            return
        server, client, node = self._listener.server, self._listener.client, self._listener.context.node_id
        told = f"{segment.seconds:.0f} s of speech, segment {segment.number} of {segment.total}"
        server.send_progress_text(told, node, client)
        if self._is_broken:
            return
        try:
            sound = self._files.write(segment.audio)
        except OSError as error:
            self._is_broken = True
            log.warning("Finished segments cannot be played in the node yet: %s", error.strerror or error)
            return
        message = {
            "node": node,
            "prompt_id": self._listener.context.prompt_id,
            "number": self._files.number,
            "text": segment.text,
            "speaker": segment.speaker,
            "total_seconds": round(segment.seconds, 4),
            "start": None if segment.start is None else round(segment.start, 4),
            **sound,
        }
        self.told.append(message)
        server.send_sync(EVENT, message, client)
