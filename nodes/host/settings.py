"""What the user has set for this server: `mizuoto/settings.json` in ComfyUI's user folder, under the environment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import folder_paths

from ... import engines
from ...engines.base import Options
from ...engines.defaults import default_options, option_settings
from ...mizuoto_runtime.preferences import Preferences
from ...mizuoto_runtime.runtime import Model
from ...mizuoto_runtime.settings import TABLE


@cache
def preferences() -> Preferences:
    """The one set of preferences, read when it is first asked for."""
    table = [*(setting for setting in TABLE if setting.under_host), *option_settings(engines.manifests().values())]
    return Preferences(table, Path(folder_paths.get_user_directory()) / "mizuoto" / "settings.json")


def options_for(model: Model, options: Options | None) -> Options | None:
    """The options of a request: those that are connected, else what the user wants of the engine."""
    if options is not None:
        return options
    manifest = model.engine.manifest
    return default_options(manifest, preferences().saved(f"{manifest.id}."))


def fingerprint_of_defaults(inputs: Mapping[str, object], tasks: Iterable[str]) -> str:
    """Changes when the user wants other options of an engine that has one of `tasks`; for `fingerprint_inputs`.

    Args:
        inputs: Of the node, where ComfyUI names what is connected without its value: the model is not known yet.
            Options that are connected win, and then nothing changes.
        tasks: Of a manifest.
    """
    if "options" in inputs or not preferences().saved():
        return ""
    able = [manifest.id for manifest in engines.manifests().values() if set(manifest.tasks).intersection(tasks)]
    return repr([(name, sorted(preferences().saved(f"{name}.").items())) for name in able])
