"""The sound of a word of several pieces: whether they are read apart, and which of them keeps its stress."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .alphabet import PRIMARY, SILENT_JOINTS
from .pieces import Piece, written
from .stress import restress, weight

_MAX_RUN_PIECES = 16  # "what-you-see-is-what-you-get" has 13


def run_starts(group: Sequence[Piece], end: int) -> list[int]:
    """Where runs of pieces up to `end` may start that a dictionary could hold, the longest run first."""
    starts = [end - 1]
    has_sound = any(map(str.isalnum, group[end - 1].text))
    for start in range(end - 2, max(-1, end - 1 - _MAX_RUN_PIECES), -1):
        has_sound = has_sound or any(map(str.isalnum, group[start].text))
        if has_sound:  # no entry consists of signs alone
            starts.append(start)
    return starts[::-1]


def settle(group: Sequence[Piece]) -> None:
    """Decide between "read apart" and "read as one word", and leave one main stress in one word; in place."""
    text = written(group)
    kinds = {_kind(c) for c in text if c not in SILENT_JOINTS}
    is_apart = " " in text or "/" in text or len(kinds) > 1
    for piece in group[1:]:
        piece.gap = is_apart
    if not is_apart:
        _leave_main_stress(group)


def sound(group: Sequence[Piece]) -> str:
    """The phonemes of a word whose pieces are all read."""
    out = ""
    for piece in group:
        if piece.gap and piece.phonemes and out and not out[-1].isspace():
            out += " "
        out += piece.phonemes or ""
    return out.replace("ɾ", "T").replace("ʔ", "t")


def _kind(c: str) -> str:
    return "letter" if c.isalpha() else "digit" if re.match("[0-9]", c) else "other"


def _leave_main_stress(group: Sequence[Piece]) -> None:
    spoken = [(PRIMARY in p.phonemes, weight(p.phonemes), i) for i, p in enumerate(group) if p.phonemes]
    num_main = sum(is_main for is_main, _, _ in spoken)
    if len(spoken) == 2 and len(group[spoken[0][2]].text) == 1:
        demoted = spoken[1:]  # e-mail, T-shirt
    elif len(spoken) < 2 or num_main <= (len(spoken) + 1) // 2:
        demoted = []
    else:
        demoted = sorted(spoken)[: len(spoken) // 2]
    for _, _, i in demoted:
        group[i].phonemes = restress(group[i].phonemes or "", -0.5)
