"""Every model that can be loaded or downloaded, with what a person wants to know before either."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...engines.base import Download, Manifest
from . import folders

_HUB = "https://huggingface.co"  # for a browser, whatever mirror the downloads come from


def catalogue(jobs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One entry a model: the official ones, then every other that is installed.

    Args:
        jobs: Name of an official model -> how its download stands.
    """
    official = [_official(missing, jobs.get(name)) for name, missing in folders.official_models().items()]
    listed = {entry["installed"] for entry in official}
    return official + [_other(model) for name, model in folders.installed_models().items() if name not in listed]


def _official(missing: folders.MissingModel, job: Any) -> dict[str, Any]:
    found = folders.installed_as(missing.name)
    return {
        "name": missing.name,
        "choice": missing.choice,
        "installed": "" if found is None else found.name,
        **_licences(missing.manifest),
        "size_bytes": missing.download.size_bytes if found is None else folders.size_bytes(found.folder),
        "folder": f"{folders.shown(folders.default_root())}/{missing.name}" if found is None else _place(found.folder),
        "sources": _sources(missing.download),
        "job": None if found is not None else job,
    }


def _other(model: folders.InstalledModel) -> dict[str, Any]:
    return {
        "name": model.name,
        "choice": model.name,
        "installed": model.name,
        **_licences(model.manifest),
        "size_bytes": folders.size_bytes(model.folder),
        "folder": _place(model.folder),
        "sources": [],
        "job": None,
    }


def _licences(manifest: Manifest) -> dict[str, Any]:
    """Of a fine-tune these are those of what it was made from."""
    return {
        "engine": manifest.name,
        "weights_license": manifest.weights_license,
        "code_license": manifest.code_license,
        "is_commercial": "-NC" not in manifest.weights_license,
    }


def _sources(download: Download) -> list[dict[str, str]]:
    repos = dict.fromkeys([download.repo, *(companion.repo for companion in download.companions)])
    return [{"name": repo, "url": f"{_HUB}/{repo}"} for repo in repos]


def _place(folder: Path) -> str:
    """Below which of the roots it lies; "" for what comes with the pack."""
    root = next((root for root in folders.roots() if folder.is_relative_to(root)), None)
    return "" if root is None else f"{folders.shown(root)}/{folder.relative_to(root).as_posix()}"
