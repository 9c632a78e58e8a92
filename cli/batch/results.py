"""What a prompt of a batch gave: its audio file, or why there is none, out of ComfyUI's history; and its length."""

from __future__ import annotations

import contextlib
import io
import wave
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

_PREVIEW = "PreviewAudio"


class NoResult(Exception):  # noqa: N818 - reads as the state it tells
    """A prompt gave no audio, or too much; the text says why."""


def audio_file(entry: Mapping[str, Any], prompt: Mapping[str, Any]) -> dict[str, str]:
    """The one audio file of a prompt that has ended: of the save nodes if there are any, else of the preview nodes.

    Raises:
        NoResult: It failed, was interrupted, or gave no file or several.
    """
    status = entry.get("status")
    if isinstance(status, dict) and status.get("status_str") != "success":
        raise NoResult(_reason(status))
    ranked: dict[int, list[dict[str, str]]] = {}
    for node, output in (entry.get("outputs") or {}).items():
        files = [file for file in output.get("audio") or () if isinstance(file, dict) and file.get("filename")]
        if files:
            ranked.setdefault(_rank(prompt.get(node, {}).get("class_type", "")), []).extend(files)
    if not ranked:
        raise NoResult("its workflow saved no audio; end it with a Save Audio or Preview Audio node")
    found = ranked[min(ranked)]
    if len(found) > 1:
        raise NoResult(
            f"its workflow saved {len(found)} audio files where one is taken; join them before the save node"
        )
    return found[0]


def ending(file: Mapping[str, str]) -> str:
    """`.flac` or the like.

    Raises:
        NoResult: The name has no such ending.
    """
    suffix = PurePosixPath(file["filename"]).suffix.lower()
    if not suffix[1:].isalnum() or not suffix.isascii():
        raise NoResult(f'its file "{file["filename"]}" has no ending that tells what it is')
    return suffix


def seconds(data: bytes) -> float | None:
    """The length of a FLAC or WAV file; None for others, which would have to be read to their end."""
    if data[:4] == b"fLaC" and len(data) >= 26:
        # STREAMINFO comes first: 20 bits of sample rate, 8 of channels and depth, 36 of length (RFC 9639, 8.2).
        packed = int.from_bytes(data[18:26], "big")
        rate, samples = packed >> 44, packed & (1 << 36) - 1
        return round(samples / rate, 3) if rate and samples else None
    with contextlib.suppress(wave.Error, EOFError), wave.open(io.BytesIO(data)) as file:
        return round(file.getnframes() / file.getframerate(), 3)
    return None


def _rank(kind: str) -> int:
    return 0 if kind.startswith("SaveAudio") else 1 if kind == _PREVIEW else 2


def _reason(status: Mapping[str, Any]) -> str:
    messages = {name: data for name, data in status.get("messages") or () if isinstance(data, dict)}
    if "execution_error" in messages:
        error = messages["execution_error"]
        message = " ".join(str(error.get("exception_message")).split())
        return f"{error.get('node_type')} (node {error.get('node_id')}): {message}"
    if "execution_interrupted" in messages:
        return "it was interrupted in ComfyUI"
    return f"ComfyUI ended it with the status {status.get('status_str')}"
