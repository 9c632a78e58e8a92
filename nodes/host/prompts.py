"""Whether ComfyUI is at work on a prompt, for threads other than its worker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .answers import prompt_server


@contextmanager
def between_prompts() -> Iterator[bool]:
    """Whether no prompt runs, and none starts inside the block; never where no server is there to tell.

    Weights move in one thread only: ComfyUI walks its list of loaded models by index, and another thread must not take
    something off it meanwhile.
    """
    server = prompt_server()
    if server is None:
        yield False
        return
    # Holding the queue's lock keeps the worker from starting a prompt, and nothing else: the worker unloads models on
    # /free between prompts without it. Those two are kept apart by the handles' own locks.
    with server.prompt_queue.mutex:
        yield not server.prompt_queue.currently_running
