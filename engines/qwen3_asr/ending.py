"""When a passage is over: the model says so, it has used up its tokens, or it goes round in circles.

A second of sound gets `TOKENS_PER_SECOND`, several times what speech takes, so that a passage which never ends is a
short one; what the user sets counts instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

TOKENS_PER_SECOND = 24
USUAL_TOKENS_PER_SECOND = 5
SPARE_TOKENS = 128
MAX_TOKENS = 8192

# Upstream takes 20 repetitions in the finished text for a failure; here they end the passage.
LOOP_REPEATS = 20
MAX_LOOP_PERIOD = 24

EOS, BUDGET, LOOP = "eos", "budget", "loop"


def token_budget(seconds: float, max_new_tokens: int = 0) -> int:
    """Most tokens of a passage.

    Args:
        seconds: Length of its sound.
        max_new_tokens: The user's limit; 0 leaves it to the sound.
    """
    return max_new_tokens or min(MAX_TOKENS, SPARE_TOKENS + math.ceil(seconds * TOKENS_PER_SECOND))


def usual_tokens(seconds: float, budget: int) -> int:
    """Tokens that a passage mostly takes, and never more than its budget."""
    return max(1, min(budget, math.ceil(seconds * USUAL_TOKENS_PER_SECOND)))


def loop_period(ids: Sequence[int]) -> int:
    """How many of the last ids are repeated `LOOP_REPEATS` times or more at the end; 0 if none are."""
    for period in range(1, min(MAX_LOOP_PERIOD, len(ids) // LOOP_REPEATS) + 1):
        tail = ids[-period * LOOP_REPEATS :]
        if tail[period:] == tail[:-period]:
            return period
    return 0
