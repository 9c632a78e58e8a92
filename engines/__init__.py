"""The registry: every folder in here is an engine. Manifests are read without importing torch."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import cast

from .base import Engine, Manifest


@cache
def manifests() -> dict[str, Manifest]:
    """Engine id -> manifest of every engine folder."""
    ids = [module.name for module in pkgutil.iter_modules(__path__) if module.ispkg]
    return {name: import_module(f".{name}.manifest", __name__).MANIFEST for name in sorted(ids)}


@cache
def engine(engine_id: str) -> Engine:
    """The engine called `engine_id`; its implementation is imported at first use."""
    return cast(Engine, import_module(f".{engine_id}.engine", __name__).ENGINE)


def recognise(folder: Path) -> Manifest | None:
    """The manifest of the engine whose checkpoint `folder` holds, if any does."""
    return next((manifest for manifest in manifests().values() if manifest.recognise(folder)), None)
