"""Sound files on the command line, decoded by PyAV."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..mizuoto_runtime.errors import InvalidRequest, Unsupported

if TYPE_CHECKING:
    from ..mizuoto_runtime.audio import Audio


def read_audio(path: Path) -> Audio:
    """The sound of a file, of a video its first audio track, with its own channels and sample rate.

    Raises:
        OSError: It cannot be read.
        InvalidRequest: It is damaged, or there is no sound in it.
        Unsupported: PyAV is not installed.
    """
    try:
        import av
    except ImportError:
        raise Unsupported("Reading sound files needs the package av, which is not installed; install it.") from None
    import torch

    from ..mizuoto_runtime.audio import Audio

    pieces, sample_rate = [], 0
    as_float = av.AudioResampler(format="fltp")
    with path.open("rb") as stream:
        try:
            with av.open(stream) as container:
                for frame in container.decode(audio=0) if container.streams.audio else ():
                    sample_rate = frame.sample_rate
                    pieces += [torch.from_numpy(part.to_ndarray()) for part in as_float.resample(frame)]
        except av.FFmpegError as error:
            raise InvalidRequest(
                f'"{path}" cannot be decoded ({error.strerror}): it is damaged or no recording.'
            ) from None
    if not sum(piece.shape[1] for piece in pieces):
        raise InvalidRequest(f'"{path}" has no sound in it; choose a recording.')
    return Audio(torch.cat(pieces, dim=1), sample_rate)
