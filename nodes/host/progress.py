"""ComfyUI's progress bar, interrupt switch and front end as the hooks of a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import comfy.model_management as mm
import comfy.utils
from comfy_execution.utils import get_executing_context

from .preview import segment_hook

_STEPS = 1000


def running_prompt() -> str:
    """The id of the prompt whose node is running now, "" where none is."""
    context = get_executing_context()
    return str(context.prompt_id) if context else ""


def request_hooks(tick: Callable[[], object]) -> dict[str, Callable[..., Any] | None]:
    """`on_progress`, `on_check` and `on_segment` for the node that is running now; `tick` is called at every check.

    `on_check` raises ComfyUI's own InterruptProcessingException, which must reach the executor.
    """
    bar = comfy.utils.ProgressBar(_STEPS)

    def on_progress(fraction: float, _what: str) -> None:
        bar.update_absolute(round(fraction * _STEPS))

    def on_check() -> None:
        mm.throw_exception_if_processing_interrupted()
        tick()

    return {
        "on_progress": on_progress,
        "on_check": on_check,
        "on_segment": segment_hook(),
    }


def byte_hooks() -> tuple[Callable[[int, int], None], Callable[[], None]]:
    """`on_progress(done, total)` in bytes and `on_check`, as above, for the node that is running now."""
    bar = comfy.utils.ProgressBar(1)
    return bar.update_absolute, mm.throw_exception_if_processing_interrupted
