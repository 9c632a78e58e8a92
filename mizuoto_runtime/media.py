"""Sound files, decoded by PyAV: any format, any number of channels, of a video its first audio track."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch

from .audio import Audio
from .errors import InvalidRequest, ModelFileError, Unsupported

# FFmpeg's names. Without them a text file could be a playlist that makes FFmpeg open other files, or addresses.
_FORMATS = "wav,w64,mp3,flac,ogg,mov,aac,matroska,aiff,caf"


def read_audio(file: Path, longest: float = math.inf) -> Audio:
    """The sound of a file, with its own channels and sample rate.

    Args:
        file: In one of the usual formats, whatever its name says.
        longest: Seconds; of a longer recording no more than that is decoded before it is refused.

    Raises:
        InvalidRequest: It is longer than `longest`, or has no sound in it, or samples that are no numbers.
        ModelFileError: It cannot be read, is damaged, or no recording at all.
        Unsupported: PyAV is not installed.
    """
    try:
        import av
    except ImportError:
        raise Unsupported("Reading sound files needs the package av, which is not installed; install it.") from None
    try:
        # A stream of Python's: FFmpeg reads some names as addresses, and on some systems only its own encoding.
        with file.open("rb") as stream, av.open(stream, options={"format_whitelist": _FORMATS}) as container:
            audio = _decoded(container, file.name, longest)
    except (av.FFmpegError, OSError, ValueError) as error:
        # The text of an error holds the whole path.
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise ModelFileError(
            f'"{file.name}" cannot be decoded ({reason}): it is damaged or no recording; save it again as a WAV file.'
        ) from error
    if not torch.isfinite(audio.waveform).all():
        raise InvalidRequest(f'"{file.name}" contains samples that are no numbers; save it again as a WAV file.')
    return audio


def _decoded(container: Any, name: str, longest: float) -> Audio:
    from av import AudioResampler

    if not container.streams.audio:
        raise InvalidRequest(f'"{name}" has no sound in it; choose a recording.')
    pieces, size, sample_rate = [], 0, 0
    as_float = AudioResampler(format="fltp")  # also lays packed channels out in planes
    for frame in container.decode(container.streams.audio[0]):
        sample_rate = frame.sample_rate  # a container may name another one: half of it for some AAC
        for part in as_float.resample(frame):
            pieces.append(torch.from_numpy(part.to_ndarray()))
            size += part.samples
        if size > longest * sample_rate:
            raise InvalidRequest(f'"{name}" is longer than {longest:g} s; cut out a clean passage of 5 to 15 s.')
    if not size:
        raise InvalidRequest(f'"{name}" has no sound in it; choose a recording.')
    return Audio(torch.cat(pieces, dim=1), sample_rate)
