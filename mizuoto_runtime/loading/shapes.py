"""Reading the shape of a network from its configuration; errors as in `fields`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import ModelFileError
from .fields import number


def sizes(config: Mapping[str, Any], keys: Mapping[str, str] | Iterable[str]) -> dict[str, int]:
    """The whole numbers that `config` has under `keys`.

    Args:
        config: A configuration.
        keys: Key -> name in the result, or keys that are their own names.

    Raises:
        ModelFileError: One is missing or something else.
    """
    names = keys if isinstance(keys, Mapping) else {key: key for key in keys}
    return {name: number(config, key, int) for key, name in names.items()}


def size_list(config: Mapping[str, Any], key: str) -> tuple[int, ...]:
    """The list of positive whole numbers `config[key]`.

    Raises:
        ModelFileError: It is missing or something else.
    """
    found = config.get(key)
    if found is None:
        raise ModelFileError(f'The model\'s configuration has no "{key}"; download its config.json again.')
    if not isinstance(found, list | tuple) or not found or not all(type(size) is int and size > 0 for size in found):
        raise ModelFileError(f'The model\'s configuration says "{key}": {found!r}, which is no list of sizes.')
    return tuple(found)


def require(config: Mapping[str, Any], values: Mapping[str, Any], part: str) -> None:
    """Refuse a network that is told apart by one of `values`; keys that `config` does not have are right.

    Raises:
        ModelFileError: A value is another; `part` says of what.
    """
    for key, value in values.items():
        if config.get(key, value) != value:
            raise ModelFileError(f'The {part} has "{key}" {config[key]!r}, and only {value!r} is supported.')
