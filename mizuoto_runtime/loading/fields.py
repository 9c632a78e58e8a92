"""Reading a model's JSON files: every error names the file or the key, and says what to do."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from ..errors import ModelFileError
from .header import damaged, read_small

MAX_JSON_BYTES = 100_000_000


def read_json(path: Path, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> dict[str, Any]:
    """The object in a JSON file; `pairs` makes each object of its (key, value) pairs, a dict by default.

    Raises:
        ModelFileError: The file is missing, too long, or holds something else.
    """
    data = read_small(path, MAX_JSON_BYTES)
    try:
        root = json.loads(data.decode("utf-8"), object_pairs_hook=pairs)
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"it cannot be understood ({error})") from error
    if not isinstance(root, dict):
        raise damaged(path, "it holds no JSON object")
    return root


def number(config: Mapping[str, Any], key: str, kind: type[int] | type[float]) -> Any:
    """`config[key]`, a number of at least 0.

    Raises:
        ModelFileError: It is missing or something else.
    """
    value = _present(config, key)
    kinds = (int,) if kind is int else (int, float)
    if not isinstance(value, kinds) or isinstance(value, bool) or value < 0:
        raise ModelFileError(f'The model\'s configuration says "{key}": {value!r}, which is no {kind.__name__} from 0.')
    return kind(value)


def positive(config: Mapping[str, Any], key: str, kind: type[int] | type[float]) -> Any:
    """`config[key]`, a number above 0.

    Raises:
        ModelFileError: It is missing or something else.
    """
    value = number(config, key, kind)
    if not value:
        raise ModelFileError(f'The model\'s configuration says "{key}": {value!r}, which must be above 0.')
    return value


def text(config: Mapping[str, Any], key: str, choices: Collection[str]) -> str:
    """`config[key]`, one of `choices`.

    Raises:
        ModelFileError: It is missing or something else.
    """
    value = _present(config, key)
    if value not in choices:
        raise ModelFileError(
            f'The model\'s configuration says "{key}": {value!r}; only {", ".join(choices)} can be loaded.'
        )
    return str(value)


def mapping(config: Mapping[str, Any], key: str) -> dict[str, Any]:
    """`config[key]`, an object.

    Raises:
        ModelFileError: It is missing or something else.
    """
    value = _present(config, key)
    if not isinstance(value, dict):
        raise ModelFileError(f'The model\'s configuration says "{key}": {value!r}, which is no object.')
    return value


def _present(config: Mapping[str, Any], key: str) -> Any:
    if config.get(key) is None:
        raise ModelFileError(f'The model\'s configuration has no "{key}"; download its config.json again.')
    return config[key]
