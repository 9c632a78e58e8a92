"""Captured steps without a card: what is recorded, when, and what a replay does."""

from contextlib import contextmanager

import pytest
import torch
from mizuoto.mizuoto_runtime.graphs import CapturedStep, can_capture


@pytest.mark.parametrize(("device", "can"), [("cuda", True), ("cuda:1", True), ("cpu", False), ("mps", False)])
def test_only_cards_that_have_graphs_capture(device, can):
    assert can_capture(torch.device(device)) == can


@pytest.fixture
def log(monkeypatch):
    """What happens to a graph, as (what, with what)."""
    entries = []

    class Graph:
        def register_generator_state(self, generator):
            entries.append(("register", generator))

        def replay(self):
            entries.append(("replay", self))

    @contextmanager
    def recording(graph, **options):
        entries.append(("begin", options))
        yield
        entries.append(("end", graph))

    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph", recording)
    return entries


def test_a_step_is_recorded_once_and_replayed(log):
    step = CapturedStep(lambda: log.append(("step", None)))
    assert [what for what, _ in log] == ["begin", "step", "end"]
    step()
    step()
    assert [what for what, _ in log[3:]] == ["replay", "replay"]
    assert {graph for what, graph in log if what in ("end", "replay")} == {step._graph}


def test_generators_are_registered_before(log):
    """Otherwise every replay would draw what the recording drew."""
    generators = [torch.Generator(), torch.Generator()]
    CapturedStep(lambda: None, generators)
    assert [what for what, _ in log] == ["register", "register", "begin", "end"]
    assert [generator for _, generator in log[:2]] == generators


def test_other_threads_may_use_the_card_meanwhile(log):
    CapturedStep(lambda: None)
    assert log[0] == ("begin", {"capture_error_mode": "thread_local"})


def test_a_step_that_fails_is_not_kept(log):
    def step():
        raise RuntimeError("not allowed while capturing")

    with pytest.raises(RuntimeError, match="while capturing"):
        CapturedStep(step)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a card")
def test_replays_compute_and_draw_anew():
    device = torch.device("cuda")
    total, generator = torch.zeros(4, device=device), torch.Generator(device).manual_seed(3)

    def step():
        total.add_(torch.empty_like(total).exponential_(1, generator=generator))

    step()
    captured = CapturedStep(step, [generator])
    before = total.clone()
    captured()
    first = total - before
    captured()
    assert not torch.equal(total - before - first, first)
