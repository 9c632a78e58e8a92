"""What a user wants of an engine where no options are given: a setting for each of its options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..mizuoto_runtime.errors import InvalidRequest
from ..mizuoto_runtime.settings import Setting, Value
from .base import Manifest, Option, Options


def option_settings(manifests: Iterable[Manifest]) -> list[Setting]:
    """A setting "engine.option" for every option; unset, the checkpoint's own default holds."""
    return [_setting(manifest, option) for manifest in manifests for option in manifest.options]


def default_options(manifest: Manifest, saved: Mapping[str, Value]) -> Options | None:
    """The options of a request that brings none.

    Args:
        manifest: Of the loaded engine; a checkpoint may know fewer options and values than its engine.
        saved: Option -> value that the user wants; what this checkpoint does not know is left out.
    """
    known = {option.name: option for option in manifest.options}
    fitting = {name: value for name, value in saved.items() if name in known and _fits(known[name], value)}
    return Options(manifest.id, fitting) if fitting else None


def _fits(option: Option, value: Value) -> bool:
    try:
        option.check(value)
    except InvalidRequest:
        return False
    return True


def _setting(manifest: Manifest, option: Option) -> Setting:
    return Setting(
        key=f"{manifest.id}.{option.name}",
        group=manifest.name,
        name=option.name,
        description=option.tooltip,
        default=option.default,
        check=option.check,
        low=option.low,
        high=option.high,
        step=option.step,
        choices=option.choices,
        changes_results=True,
    )
