"""What makes a clean reference out of a recording: pure functions on `Audio`, in seconds from its beginning."""

from .edges import PAUSE_S, cut, faded, joined
from .quality import clipped_share, noise_ratio_db
from .trim import MARGIN_S, find_speech, outline
from .window import best_window

__all__ = [
    "MARGIN_S",
    "PAUSE_S",
    "best_window",
    "clipped_share",
    "cut",
    "faded",
    "find_speech",
    "joined",
    "noise_ratio_db",
    "outline",
]
