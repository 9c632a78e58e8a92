"""Entering and leaving a stage when everything is resident, against ComfyUI being asked for a loaded model (C10)."""

from __future__ import annotations

import os
from collections.abc import Iterable

from mizuoto.tests.bench.body import row
from mizuoto.tests.bench.in_process import in_comfyui

MAX_RATIO = 2.0


def run() -> Iterable[dict]:
    """All rows; both sides pass through the same clock and the same interleaving."""
    if "COMFYUI_PATH" not in os.environ:
        yield {"id": "C10", "skipped": "ComfyUI"}
        return
    best = in_comfyui("stage")
    us = {name: seconds * 1e6 for name, seconds in best.items()}
    what = "us to enter and leave a stage, all resident, against a load_models_gpu that finds its model loaded"
    yield row("C10", f"{what}; under ComfyUI", us["ours"], us["theirs"], MAX_RATIO)
    yield row("C10-alone", f"{what}; on our own manager", us["alone"], us["theirs"], MAX_RATIO)
