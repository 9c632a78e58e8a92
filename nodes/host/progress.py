"""ComfyUI's progress bar, interrupt switch and front end as the hooks of a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import comfy.model_management as mm
import comfy.utils

from .preview import segment_hook

_STEPS = 1000


def request_hooks() -> dict[str, Callable[..., Any] | None]:
    """`on_progress`, `on_check` and `on_segment` for the node that is running now.

    `on_check` raises ComfyUI's own InterruptProcessingException, which must reach the executor.
    """
    bar = comfy.utils.ProgressBar(_STEPS)

    def on_progress(fraction: float, _what: str) -> None:
        bar.update_absolute(round(fraction * _STEPS))

    return {
        "on_progress": on_progress,
        "on_check": mm.throw_exception_if_processing_interrupted,
        "on_segment": segment_hook(),
    }


def byte_hooks() -> tuple[Callable[[int, int], None], Callable[[], None]]:
    """`on_progress(done, total)` in bytes and `on_check`, as above, for the node that is running now."""
    bar = comfy.utils.ProgressBar(1)
    return bar.update_absolute, mm.throw_exception_if_processing_interrupted
