"""Reading the YAML of model configurations: nested maps of plain values, and nothing else that YAML can be."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from .header import damaged, read_small

MAX_YAML_BYTES = 1 << 20
_LINE = re.compile(r"(?P<indent> *)(?P<key>[\w.-]+):(?:\s+(?P<value>\S.*?))?\s*")
_COMMENT = re.compile(r"(?:^|\s+)#.*$")
_WORDS = {"true": True, "false": False, "null": None, "~": None}


def read_yaml(path: Path) -> dict[str, Any]:
    """The map in a YAML file; values are maps, bool, int, float, None or str, and nothing is an empty map.

    Raises:
        ModelFileError: The file is missing, too long, or holds lists or whatever else goes beyond that.
    """
    data = read_small(path, MAX_YAML_BYTES)
    try:
        return _parsed(data.decode("utf-8"))
    except ValueError as error:  # UnicodeDecodeError is one
        raise damaged(path, f"it cannot be understood ({error})") from error


def _parsed(text: str) -> dict[str, Any]:
    root: dict[str, Any] = {}
    open_maps = [(0, root)]  # with the indent of their keys
    opening: dict[str, Any] | None = None  # the map of a key that has no value beside it
    for number, line in enumerate(text.splitlines(), 1):
        line = _COMMENT.sub("", line).rstrip()
        if not line or line == "---":
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            raise ValueError(f"line {number} is no key with a value")
        indent, key, value = len(found["indent"]), found["key"], found["value"]
        if opening is not None and indent > open_maps[-1][0]:
            open_maps.append((indent, opening))
        while indent < open_maps[-1][0]:
            open_maps.pop()
        level, table = open_maps[-1]
        if indent != level or key in table:
            raise ValueError(f"line {number} is indented oddly or repeats a key")
        opening = {} if value is None else None
        table[key] = _scalar(value) if opening is None else opening
    return root


def _scalar(value: str) -> Any:
    if value[0] in "'\"" and len(value) > 1 and value[-1] == value[0]:
        return value[1:-1]
    if value[0] in "[{&*!|>-" and not re.fullmatch(r"-[\d.].*", value):
        raise ValueError(f"{value[:20]} is no plain value")
    if value.casefold() in _WORDS:
        return _WORDS[value.casefold()]
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            pass
    return value
