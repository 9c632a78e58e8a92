"""Sounds for the page to play: files in ComfyUI's folder for temporary files, and what a picture of them needs.

They are written for the client that waits for the node only, so that scripts cost no disk. It finds them in the node's
`ui` output, by which they come back when the page shows that run again, for as long as the files are there.
"""

from __future__ import annotations

import hashlib
import logging
import wave
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import folder_paths
import torch
from comfy_execution.utils import ExecutionContext, get_executing_context

from ...mizuoto_runtime.audio import Audio, mono
from ...mizuoto_runtime.outline import outline
from .answers import prompt_server

log = logging.getLogger("mizuoto.sounds")

MAX_SECONDS = 3600.0  # at 48 kHz a third of a gigabyte
_FOLDER = "mizuoto"  # below ComfyUI's folder for temporary files
_BLOCK = 1 << 20  # samples


@dataclass(frozen=True, slots=True)
class Listener:
    """The client that waits for the node that is running now.

    Attributes:
        server: ComfyUI's.
        client: Its id.
        context: Which node of which prompt that is.
    """

    server: Any
    client: str
    context: ExecutionContext

    @property
    def is_connected(self) -> bool:
        """Whether it can be told anything."""
        return self.client in self.server.sockets


def find_listener() -> Listener | None:
    """None where no node runs, or its prompt names no client."""
    server, context = prompt_server(), get_executing_context()
    client = getattr(server, "client_id", None)
    if context is None or not isinstance(client, str):
        return None
    return Listener(server, client, context)


class SoundFiles:
    """Files of one run of a node; writing the first removes those that its earlier prompts left."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._folder = Path(folder_paths.get_temp_directory(), _FOLDER)
        context = listener.context
        self._owner = [_digest(listener.client), _digest(context.node_id), _digest(context.prompt_id)]
        self.number = 0

    def write(self, audio: Audio) -> dict[str, Any]:
        """Write one more, and give `file` for ComfyUI's /view, `seconds` and `peaks` for a picture.

        Raises:
            OSError: The file cannot be written.
        """
        if not self.number:
            self._folder.mkdir(parents=True, exist_ok=True)
            self.number = self._tidy()
        self.number += 1
        name = "_".join([*self._owner, f"{self.number:05}.wav"])
        _write_wav(self._folder / name, audio)
        return {"file": {"filename": name, "subfolder": _FOLDER, "type": "temp"}, **picture(audio)}

    def _tidy(self) -> int:
        """Remove what earlier prompts left of this node, and clients that are gone; how many files this prompt has.

        There are some already where the node runs for each of a list.
        """
        connected = {_digest(client) for client in list(self._listener.server.sockets)}
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


def sound_for_page(audio: Audio) -> dict[str, Any]:
    """What a node's `ui` output says of a recording that its client shall hear; see `SoundFiles.write`.

    Without a file where nobody listens, where it is longer than `MAX_SECONDS`, or where it cannot be written.
    """
    listener = find_listener()
    if listener is not None and listener.is_connected and audio.seconds <= MAX_SECONDS:
        try:
            return SoundFiles(listener).write(audio)
        except OSError as error:
            log.warning("A recording cannot be played in its node: %s", error.strerror or error)
    return picture(audio)


def picture(audio: Audio) -> dict[str, Any]:
    """What it takes to draw a recording: `seconds` and `peaks`."""
    return {"seconds": round(audio.seconds, 4), "peaks": outline(audio)}


def _digest(text: str) -> str:
    """What stands for an id of any length and characters in the name of a file."""
    return hashlib.blake2b(str(text).encode("utf-8", "replace"), digest_size=8).hexdigest()


def _write_wav(path: Path, audio: Audio) -> None:
    """One channel of 16 bits, which is enough to listen to."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(audio.sample_rate)
        for block in audio.waveform.split(_BLOCK, dim=1):
            samples = mono(Audio(block, audio.sample_rate)).waveform[0].clamp(-1, 1) * 32767
            file.writeframes(samples.round().to(torch.int16).numpy().astype("<i2").tobytes())
