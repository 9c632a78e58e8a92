"""How long a text takes to say, by the weights of its letters: the model is told a length before it begins.

Imports no torch.
"""

from __future__ import annotations

import math
import unicodedata
from bisect import bisect_left
from functools import lru_cache

FRAME_RATE_HZ = 25
USUAL_TEXT, USUAL_FRAMES = "Nice to meet you.", 25  # the pace where there is no reference
_SHORT_FRAMES = 50  # what is shorter is stretched: short estimates are unreliable

# Kind of character by unicode category -> units of a Latin letter; then by script.
_KINDS = {"M": 0.0, "P": 0.5, "S": 0.5, "Z": 0.2, "N": 3.5}
_TATWEEL = "\u0640"  # stretches a word in print only
_OTHER, _RARE_HAN = 1.0, 3.0
_RARE_HAN_FROM = 0x20000
# (last code point, weight): alphabets 1, Han, Ethiopic and Yi 3, Hangul 2.5, kana 2.2, Indic, Khmer and Burmese 1.8,
# Thai, Lao, Arabic and Hebrew 1.5.
_SCRIPTS = (
    (0x058F, 1.0), (0x08FF, 1.5), (0x0DFF, 1.8), (0x0EFF, 1.5), (0x109F, 1.8), (0x10FF, 1.0), (0x11FF, 2.5),
    (0x139F, 3.0), (0x177F, 1.0), (0x17FF, 1.8), (0x18FF, 1.0), (0x1C7F, 1.8), (0x1CBF, 1.0), (0x1CFF, 1.8),
    (0x1EFF, 1.0), (0x30FF, 2.2), (0x312F, 3.0), (0x318F, 2.5), (0x9FFF, 3.0), (0xA4CF, 3.0), (0xA7FF, 1.0),
    (0xA82F, 1.8), (0xA87F, 1.0), (0xA95F, 1.8), (0xA97F, 2.5), (0xAAFF, 1.8), (0xAB2F, 3.0), (0xABBF, 1.0),
    (0xABFF, 1.8), (0xD7AF, 2.5), (0xFAFF, 3.0), (0xFDFF, 1.5), (0xFE6F, 1.0), (0xFEFF, 1.5), (0xFFEF, 1.0),
)  # fmt: skip
_ENDS = [end for end, _ in _SCRIPTS]


@lru_cache(maxsize=4096)
def letter_weight(letter: str) -> float:
    """How long one character sounds, in units of a Latin letter.

    Source: RuleDurationEstimator, omnivoice 0.2.1 utils/duration.py.
    """
    if letter == _TATWEEL:
        return 0.0
    kind = _KINDS.get(unicodedata.category(letter)[0])
    if kind is not None:
        return kind
    code = ord(letter)
    place = bisect_left(_ENDS, code)
    if place < len(_SCRIPTS):
        return _SCRIPTS[place][1]
    return _RARE_HAN if code > _RARE_HAN_FROM else _OTHER


def text_weight(text: str) -> float:
    """The same for a text."""
    return sum(map(letter_weight, text))


def spoken_length(text: str) -> int:
    """The same, rounded up."""
    return math.ceil(text_weight(text))


def estimated_frames(text: str, reference: str, reference_frames: int, speed: float = 1.0) -> int:
    """Frames that `text` takes at the pace of a reference; at least 1.

    Args:
        text: To be said.
        reference: What is said in the reference; "" stands for the usual pace.
        reference_frames: Its length.
        speed: Factor on the pace.

    Source: OmniVoice._estimate_target_tokens, omnivoice 0.2.1.
    """
    if not reference:
        reference, reference_frames = USUAL_TEXT, USUAL_FRAMES
    pace = text_weight(reference) / reference_frames
    frames = text_weight(text) / pace if pace else 0.0
    if pace and frames < _SHORT_FRAMES:
        frames = _SHORT_FRAMES * (frames / _SHORT_FRAMES) ** (1.0 / 3)
    if speed != 1.0:
        frames = frames / speed
    return max(1, int(frames))
