"""Makes the checkout importable as package `mizuoto`, under which ComfyUI-free code runs and is tested."""

import importlib.util
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def _import_checkout_as(name: str) -> None:
    # The root must not enter sys.path: our folder `nodes` would shadow ComfyUI's module of that name.
    spec = importlib.util.spec_from_file_location(name, ROOT / "__init__.py", submodule_search_locations=[str(ROOT)])
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


if "mizuoto" not in sys.modules:
    _import_checkout_as("mizuoto")

import torch  # noqa: E402

torch.set_num_threads(1)

if os.environ.get("CI"):  # what changes nothing must not turn red; new examples are found elsewhere
    from hypothesis import settings

    settings.register_profile("ci", derandomize=True, deadline=None)
    settings.load_profile("ci")
