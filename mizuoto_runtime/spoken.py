"""What a request tells of its speech while it goes on."""

from __future__ import annotations

from dataclasses import dataclass

from .audio import Audio


@dataclass(frozen=True, slots=True)
class SpokenSegment:
    """A finished segment of a recording that is still being made.

    Attributes:
        number: Its own, from 1.
        total: Of all; those that the engine cannot say count, too.
        audio: The very samples of the recording, and those of the pause before it. Only the silence behind the last
            one is missing, and a segment that stays alone may be faded at its ends.
        text: What is said.
        speaker: By whom; "" for the narrator.
        seconds: Of speech so far.
        start: Where it sounds in the recording, in seconds; None where that is right behind the segments before.
    """

    number: int
    total: int
    audio: Audio
    text: str
    speaker: str
    seconds: float
    start: float | None = None
