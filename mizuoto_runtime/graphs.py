"""Recording the kernels of one step and replaying them, which spares a small model most of its time on a card."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch


def can_capture(device: torch.device) -> bool:
    """Whether steps on `device` can be recorded: NVIDIA's and AMD's cards."""
    return device.type == "cuda"


class CapturedStep:
    """A step that was recorded once; calling it replays its kernels on the tensors that it was recorded with.

    The weights and every tensor that the step reads or writes must keep their addresses, so a model whose weights
    stream or move cannot be captured; nothing in the step may wait for the device. Let the step run a few times
    before: what is set up lazily must not be recorded.

    Args:
        step: Works on tensors made before, in place.
        generators: All that the step draws from; every replay draws anew.
    """

    def __init__(self, step: Callable[[], None], generators: Sequence[torch.Generator] = ()) -> None:
        self._graph = torch.cuda.CUDAGraph()
        for generator in generators:
            self._graph.register_generator_state(generator)
        # Other threads of the host may use the card meanwhile.
        with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
            step()

    def __call__(self) -> None:
        """Replay."""
        self._graph.replay()
