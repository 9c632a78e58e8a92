"""Tags of engines and of scripts, which pass through unread: "[laugh]", "[pause:1s]", "<strong>", "<|eot|>"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..boundaries import MAX_TAG

_TAG = re.compile(
    rf"\[(?=[/^]?[^\W\d_])[^\[\]\n]{{1,{MAX_TAG}}}\](?:\([^()\n]{{0,{MAX_TAG}}}\))?"
    rf"|<(?=/?[^\W\d_]|\|)[^<>\n]{{1,{MAX_TAG}}}>"
)


def tag_spans(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of what looks like a tag: brackets around something that starts with a letter.

    "[word](/wɜd/)" is one tag; "[1]" and "a < b > c" hold none.
    """
    for m in _TAG.finditer(text):
        yield m.span()
