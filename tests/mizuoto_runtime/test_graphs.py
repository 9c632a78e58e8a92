"""Captured steps without a card: what is recorded, where, and what a replay does."""

from contextlib import contextmanager

import pytest
import torch
from mizuoto.mizuoto_runtime.graphs import CapturedStep, can_capture

CARD = torch.device("cuda:1")


@pytest.mark.parametrize(("device", "can"), [("cuda", True), ("cuda:1", True), ("cpu", False), ("mps", False)])
def test_only_cards_that_have_graphs_capture(card, device, can):
    assert can_capture(torch.device(device)) == can


def test_graphs_that_would_draw_the_same_again_are_no_use(card, monkeypatch):
    monkeypatch.delattr(torch.cuda.CUDAGraph, "register_generator_state")
    assert not can_capture(CARD)


class Generator:
    """A generator whose state is a number; one that a recording broke off in refuses to draw."""

    def __init__(self, state=5):
        self.state, self.is_recording = state, False

    def clone_state(self):
        return Generator(self.state)

    def graphsafe_set_state(self, other):
        self.state, self.is_recording = other.state, other.is_recording


class Stream:
    """A stream of a card; `Stream(device)` makes another."""

    def __init__(self, device):
        self.device = device


class Card:
    """What of a machine with cards recordings touch.

    `log` holds (what happened, on which current device, with what); `end_error` is raised where a recording ends.
    """

    def __init__(self):
        self.log, self.current, self.end_error = [], torch.device("cuda:0"), None
        self.streams = {}

    def note(self, what, given=None):
        self.log.append((what, self.current, given))

    def names(self):
        return [what for what, _, _ in self.log]

    @contextmanager
    def device(self, device):
        before, self.current = self.current, device
        try:
            yield
        finally:
            self.current = before

    def current_stream(self, device):
        return self.streams.setdefault(device, Stream(device))

    def set_stream(self, stream):
        self.streams[stream.device] = stream

    @contextmanager
    def graph(self, graph, stream, capture_error_mode):
        """As torch's: the stream before is back only if the end goes well."""
        before = self.current_stream(stream.device)
        self.set_stream(stream)
        self.note("begin", (stream, capture_error_mode))
        for generator in graph.generators:
            generator.is_recording = True
        try:
            yield
        finally:
            self.note("end", graph)
            if self.end_error:
                raise self.end_error
            for generator in graph.generators:
                generator.is_recording = False
            self.set_stream(before)


@pytest.fixture
def card(monkeypatch):
    card = Card()

    class Graph:
        def __init__(self):
            self.generators = []

        def register_generator_state(self, generator):
            card.note("register", generator)
            self.generators.append(generator)

        def replay(self):
            card.note("replay", self)

    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    for name in ("graph", "device", "current_stream", "set_stream"):
        monkeypatch.setattr(torch.cuda, name, getattr(card, name))
    return card


def test_a_step_is_recorded_once_and_replayed(card):
    step = CapturedStep(lambda: card.note("step"), [], CARD)
    assert card.names() == ["begin", "step", "end"]
    step()
    step()
    assert card.names()[3:] == ["replay", "replay"]
    assert {given for what, _, given in card.log if what in ("end", "replay")} == {step._graph}


def test_everything_happens_on_the_steps_own_device(card):
    """Which is not always the current one; torch's own stream for recordings would be of the first device."""
    CapturedStep(lambda: card.note("step"), [Generator()], CARD)()
    assert {device for _, device, _ in card.log} == {CARD}
    (stream,) = [given[0] for what, _, given in card.log if what == "begin"]
    assert stream.device == CARD
    assert stream is not card.current_stream(CARD)
    assert card.current == torch.device("cuda:0")


def test_generators_are_registered_before(card):
    """Otherwise every replay would draw what the recording drew."""
    generators = [Generator(), Generator()]
    CapturedStep(lambda: None, generators, CARD)
    assert card.names() == ["register", "register", "begin", "end"]
    assert [given for _, _, given in card.log[:2]] == generators


def test_other_threads_may_use_the_card_meanwhile(card):
    CapturedStep(lambda: None, [], CARD)
    assert card.log[0][2][1] == "thread_local"


@pytest.mark.parametrize("fails_at_end", [False, True])
def test_a_failure_leaves_stream_and_generators_as_they_were(card, fails_at_end):
    def step():
        generator.state += 1
        raise RuntimeError("not allowed while capturing")

    generator, before = Generator(5), card.current_stream(CARD)
    if fails_at_end:
        card.end_error = RuntimeError("invalid while capturing")
    with pytest.raises(RuntimeError, match="while capturing"):
        CapturedStep(step, [generator], CARD)
    assert card.current_stream(CARD) is before
    assert card.current == torch.device("cuda:0")
    assert (generator.state, generator.is_recording) == (5, False)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a card")
def test_replays_compute_and_draw_anew():
    device = torch.device("cuda")
    total, generator = torch.zeros(4, device=device), torch.Generator(device).manual_seed(3)

    def step():
        total.add_(torch.empty_like(total).exponential_(1, generator=generator))

    step()
    captured = CapturedStep(step, [generator], device)
    before = total.clone()
    captured()
    first = total - before
    captured()
    assert not torch.equal(total - before - first, first)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a card")
def test_after_a_failed_recording_the_step_still_runs():
    device = torch.device("cuda")
    total, generator = torch.zeros(4, device=device), torch.Generator(device).manual_seed(3)
    stream = torch.cuda.current_stream(device)

    def step():
        total.add_(torch.empty_like(total).exponential_(1, generator=generator))
        total.sum().item()  # waits for the device, which a recording must not

    with pytest.raises(RuntimeError):
        CapturedStep(step, [generator], device)
    step()
    assert torch.cuda.current_stream(device) == stream
    assert torch.equal(total, torch.empty_like(total).exponential_(1, generator=generator.manual_seed(3)))
