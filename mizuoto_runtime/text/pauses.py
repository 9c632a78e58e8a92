"""How long a reader pauses after a piece of text, by what it ends with."""

from __future__ import annotations

import re

PARAGRAPH_PAUSE_S, SENTENCE_PAUSE_S, CLAUSE_PAUSE_S, WORD_PAUSE_S = 0.7, 0.45, 0.25, 0.1
_SENTENCE_ENDS, _CLAUSE_ENDS = ".!?…。！？｡", ",;:—–、，；："
_TAGS = re.compile(r"(?:\s*\[[^\[\]\n]{1,200}\])+\s*$")
_LAST_MARK = re.compile(rf"([{_SENTENCE_ENDS}{_CLAUSE_ENDS}])[^\w{_SENTENCE_ENDS}{_CLAUSE_ENDS}]*$")


def pause_after(text: str) -> float:
    """Seconds of silence that belong behind a segment; quotes, emoji and tags behind its last mark do not count."""
    mark = _LAST_MARK.search(_TAGS.sub("", text))
    if mark is None:
        return WORD_PAUSE_S
    return SENTENCE_PAUSE_S if mark[1] in _SENTENCE_ENDS else CLAUSE_PAUSE_S
