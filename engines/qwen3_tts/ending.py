"""When a take is over: the model says so, it has used up its frames, or it goes round in circles.

A text gets `FRAMES_PER_TOKEN` frames a token and `SPARE_FRAMES` more, several times what speech takes, so that a take
which never ends is a short one; what the user sets counts instead. A take that hit the limit is marked in the report.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

FRAME_RATE_HZ = 12.5
FRAMES_PER_TOKEN = 16  # over a second for a token
USUAL_FRAMES_PER_TOKEN = 4  # slow speech
SPARE_FRAMES = 25
MAX_FRAMES = 8191  # what the publisher's own limit of tokens gives

# A pause may repeat a frame for a second or two; this long, nothing comes any more.
LOOP_FRAMES = 50
MAX_LOOP_PERIOD = 8
KEPT_LOOP_FRAMES = 6  # of them stay in the take, half a second

EOS, BUDGET, LOOP = "eos", "budget", "loop"


def frame_budget(text_tokens: int, max_seconds: float = 0.0) -> int:
    """Most frames of a take.

    Args:
        text_tokens: Length of the text.
        max_seconds: The user's limit; 0 leaves it to the text.
    """
    if max_seconds > 0:
        return max(1, min(MAX_FRAMES, math.floor(max_seconds * FRAME_RATE_HZ)))
    return min(MAX_FRAMES, SPARE_FRAMES + FRAMES_PER_TOKEN * text_tokens)


def usual_frames(text_tokens: int, budget: int) -> int:
    """Frames that a take of so many tokens hardly exceeds, and never more than its budget."""
    return min(budget, SPARE_FRAMES + USUAL_FRAMES_PER_TOKEN * text_tokens)


def is_looping(first_codes: Sequence[int]) -> bool:
    """Whether the last `LOOP_FRAMES` first codes repeat with a period of at most `MAX_LOOP_PERIOD`."""
    if len(first_codes) < LOOP_FRAMES:
        return False
    tail = list(first_codes[-LOOP_FRAMES:])
    return any(tail[period:] == tail[:-period] for period in range(1, MAX_LOOP_PERIOD + 1))
