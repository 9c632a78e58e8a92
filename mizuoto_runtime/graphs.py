"""Recording the kernels of one step and replaying them, which spares a small model most of its time on a card."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch


def can_capture(device: torch.device) -> bool:
    """Whether steps on `device` can be recorded: NVIDIA's and AMD's cards, with a torch whose graphs draw anew."""
    return device.type == "cuda" and hasattr(torch.cuda.CUDAGraph, "register_generator_state")


class CapturedStep:
    """A step that was recorded once; calling it replays its kernels on the tensors that it was recorded with.

    The weights and every tensor that the step reads or writes must keep their addresses, so a model whose weights
    stream or move cannot be captured; nothing in the step may wait for the device. Let the step run a few times
    before: what is set up lazily must not be recorded. When recording fails, nothing was computed or drawn, and the
    step can be run as it is.

    Args:
        step: Works on tensors made before, in place.
        generators: All that the step draws from; every replay draws anew.
        device: Where all of them are.
    """

    def __init__(self, step: Callable[[], None], generators: Sequence[torch.Generator], device: torch.device) -> None:
        self._device = device
        # A recording that breaks off may leave generators that refuse to draw.
        states = [generator.clone_state() for generator in generators]
        try:
            with torch.cuda.device(device):
                self._graph = _recorded(step, generators, device)
        except BaseException:
            for generator, state in zip(generators, states, strict=True):
                generator.graphsafe_set_state(state)
            raise

    def __call__(self) -> None:
        """Replay."""
        with torch.cuda.device(self._device):
            self._graph.replay()


def _recorded(
    step: Callable[[], None], generators: Sequence[torch.Generator], device: torch.device
) -> torch.cuda.CUDAGraph:
    graph = torch.cuda.CUDAGraph()
    for generator in generators:
        graph.register_generator_state(generator)
    current = torch.cuda.current_stream(device)
    try:
        # A stream of this device: torch's own for recordings belongs to the first device that was ever recorded on.
        # Other threads of the host may use the card meanwhile.
        with torch.cuda.graph(graph, stream=torch.cuda.Stream(device), capture_error_mode="thread_local"):
            step()
    finally:
        torch.cuda.set_stream(current)  # torch leaves its own in place when the end of a recording fails
    return graph
