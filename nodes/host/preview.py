"""Finished segments of the node that is running now: sent to the front end that waits, which plays them."""

from __future__ import annotations

import hashlib
import io
import logging
import wave
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import folder_paths
import torch
from comfy_execution.utils import ExecutionContext, get_executing_context

from ...mizuoto_runtime.audio import Audio
from ...mizuoto_runtime.spoken import SpokenSegment
from .answers import prompt_server

log = logging.getLogger("mizuoto.preview")

EVENT = "mizuoto.segment"
_FOLDER = "mizuoto"  # below ComfyUI's folder for temporary files


def segment_hook() -> Callable[[SpokenSegment], None] | None:
    """`on_segment` of the node that is running now; None where its prompt names no client."""
    server, context = prompt_server(), get_executing_context()
    client = getattr(server, "client_id", None)
    if context is None or not isinstance(client, str):
        return None
    return _Preview(server, client, context)


class _Preview:
    """Shows how far a node is and puts each segment where its client can fetch it, while that one is connected."""

    def __init__(self, server: Any, client: str, context: ExecutionContext) -> None:
        self._server, self._client, self._context = server, client, context
        self._folder = Path(folder_paths.get_temp_directory(), _FOLDER)
        self._owner = [_digest(client), _digest(context.node_id), _digest(context.prompt_id)]
        self._number = 0
        self._is_broken = False

    def __call__(self, segment: SpokenSegment) -> None:
        """Tell of one segment; whatever goes wrong with its file is logged and no more."""
        if self._client not in self._server.sockets:
            return
        told = f"{segment.seconds:.0f} s of speech, segment {segment.number} of {segment.total}"
        self._server.send_progress_text(told, self._context.node_id, self._client)
        if self._is_broken:
            return
        try:
            name = self._write(segment.audio)
        except OSError as error:
            self._is_broken = True
            log.warning("Finished segments cannot be played in the node yet: %s", error.strerror or error)
            return
        message = {
            "node": self._context.node_id,
            "prompt_id": self._context.prompt_id,
            "number": self._number,
            "text": segment.text,
            "speaker": segment.speaker,
            "seconds": round(segment.audio.seconds, 4),
            "total_seconds": round(segment.seconds, 4),
            "file": {"filename": name, "subfolder": _FOLDER, "type": "temp"},
        }
        self._server.send_sync(EVENT, message, self._client)

    def _write(self, audio: Audio) -> str:
        if not self._number:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._number = self._tidy()
        self._number += 1
        name = "_".join([*self._owner, f"{self._number:05}.wav"])
        (self._folder / name).write_bytes(_wav(audio))
        return name

    def _tidy(self) -> int:
        """Remove what earlier prompts left of this node, and clients that are gone; how many files this prompt has.

        There are some already where the node runs for each of a list.
        """
        connected = {_digest(client) for client in list(self._server.sockets)}
        num_own = 0
        for path in self._folder.glob("*_*_*_*.wav"):
            owner = path.name.split("_")[:3]
            is_of_node = owner[:2] == self._owner[:2]
            if owner == self._owner:
                num_own += 1
            elif is_of_node or owner[0] not in connected:
                with suppress(OSError):  # one that is being played stays until the next time
                    path.unlink()
        return num_own


def _digest(text: str) -> str:
    """What stands for an id of any length and characters in the name of a file."""
    return hashlib.blake2b(str(text).encode("utf-8", "replace"), digest_size=8).hexdigest()


def _wav(audio: Audio) -> bytes:
    """One channel of 16 bits, which is enough to listen to."""
    content = io.BytesIO()
    samples = (audio.waveform[0].clamp(-1, 1) * 32767).round().to(torch.int16).numpy()
    with wave.open(content, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(audio.sample_rate)
        file.writeframes(samples.astype("<i2").tobytes())
    return content.getvalue()
