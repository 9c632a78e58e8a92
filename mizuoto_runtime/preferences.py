"""What the user of this machine has set: environment variables before a file before the defaults."""

from __future__ import annotations

import json
import logging
import os
import tempfile
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from .errors import InvalidRequest, SettingIsFixed, did_you_mean
from .settings import Setting, Value

log = logging.getLogger("mizuoto.settings")


class Preferences:
    """The values of a table of settings. Safe to use from several threads.

    A file that is damaged is set aside and a value in it that is no good is passed over, each with a line in the log:
    neither keeps a program from starting. What the file holds besides the table stays in it.

    Args:
        table: What there is to set.
        path: The file, JSON with a key for every value that is not the default; None where there is none.
        environment: Default: that of the process.
    """

    def __init__(
        self, table: Iterable[Setting], path: Path | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self.table = {setting.key: setting for setting in table}
        self._path = path
        self._environment = os.environ if environment is None else environment
        self._lock = threading.Lock()
        try:
            self._saved = self._good(_read(path))
        except OSError as error:
            log.warning("The settings in %s cannot be read, so the defaults hold: %s", path, error)
            self._saved = {}

    def value(self, key: str) -> Value:
        """The value in force.

        Raises:
            InvalidRequest: The environment variable holds no value for it.
        """
        setting = self.table[key]
        if setting.variable in self._environment:
            return setting.parse(self._environment[setting.variable])
        return self._saved.get(key, setting.default)

    def values(self, prefix: str = "") -> dict[str, Value]:
        """Key -> value in force of every setting whose key begins with `prefix`; raises as `value` does."""
        return {key: self.value(key) for key in self.table if key.startswith(prefix)}

    def saved(self, prefix: str = "") -> dict[str, Value]:
        """What the file sets, of the keys that begin with `prefix`; without that beginning."""
        return {key.removeprefix(prefix): value for key, value in self._saved.items() if key.startswith(prefix)}

    def describe(self) -> list[dict[str, Any]]:
        """Every setting with its value and where that comes from, as JSON-ready data."""
        return [self._described(setting) for setting in self.table.values()]

    def save(self, changes: Mapping[str, Any]) -> None:
        """Change values for now and for later starts, all or none of them.

        Args:
            changes: Key -> new value; None for the default.

        Raises:
            InvalidRequest: A key is unknown or a value no good; the sentence says what would do.
            SettingIsFixed: One of them cannot be changed from here.
            OSError: The file cannot be read or written.
        """
        checked = {key: self._checked(key, value) for key, value in changes.items()}
        with self._lock:
            content = _read(self._path)
            for key, value in checked.items():
                content.pop(key, None)
                if value is not None:
                    content[key] = value
            if self._path is not None:
                _write(self._path, content)
            self._saved = self._good(content)

    def _checked(self, key: str, value: Any) -> Value | None:
        setting = self.table.get(key)
        if setting is None:
            near = did_you_mean(key, self.table) or f" There are: {', '.join(self.table)}."
            raise InvalidRequest(f'There is no setting "{key[:80]}".{near}')
        if setting.variable in self._environment:
            raise SettingIsFixed(
                f'"{key}" is fixed by the environment variable {setting.variable}; unset it where ComfyUI is started.'
            )
        if setting.on_server_only:
            raise SettingIsFixed(f'"{key}" is set where ComfyUI runs, by the environment variable {setting.variable}.')
        return None if value is None else setting.check(value)

    def _good(self, content: Mapping[str, Any]) -> dict[str, Value]:
        good: dict[str, Value] = {}
        for key in content.keys() & self.table.keys():
            try:
                good[key] = self.table[key].check(content[key])
            except InvalidRequest as error:
                log.warning("In %s, %s is passed over: %s", self._path, key, error)
        return good

    def _described(self, setting: Setting) -> dict[str, Any]:
        is_fixed = setting.variable in self._environment
        source = "environment" if is_fixed else "saved" if setting.key in self._saved else "default"
        try:
            value, problem = self.value(setting.key), ""
        except InvalidRequest as error:
            value, problem = setting.default, str(error)
        return {
            "key": setting.key,
            "group": setting.group,
            "name": setting.name,
            "description": setting.description,
            "type": _type_of(setting),
            "value": value,
            "default": setting.default,
            "source": source,
            "variable": setting.variable,
            "problem": problem,
            "read_only": is_fixed or setting.on_server_only,
            **_range_of(setting),
            "choices": list(setting.choices),
            "changes_results": setting.changes_results,
            "at_start": setting.at_start,
        }


def _type_of(setting: Setting) -> str:
    if setting.choices:
        return "choice"
    return {bool: "boolean", int: "integer", float: "number", str: "text"}[type(setting.default)]


def _range_of(setting: Setting) -> dict[str, float | None]:
    """What JSON can hold of it: no infinity."""
    limits = {"low": setting.low, "high": setting.high, "step": setting.step}
    return {name: value if abs(value) < float("inf") else None for name, value in limits.items()}


def _read(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError("it holds no object")
        return content
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError) as error:
        aside = path.with_name(f"{path.stem}.damaged{path.suffix}")
        with suppress(OSError):
            os.replace(path, aside)
        log.warning("The settings in %s are damaged (%s); it is now %s, and the defaults hold.", path, error, aside)
        return {}


def _write(path: Path, content: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=2, sort_keys=True, ensure_ascii=False)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
