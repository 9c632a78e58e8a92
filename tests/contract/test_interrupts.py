"""Requests that end early leave nothing behind, and models that come and go leave nothing either."""

import math
import weakref
from functools import partial

import pytest
from mizuoto.tests.contract.card import Card, Shares, Trap, live_tensors
from mizuoto.tests.contract.subjects import differences

KILLS, ROUNDS = 200, 20


class Interrupted(Exception):  # noqa: N818 - named like ComfyUI's own
    """As ComfyUI 0.3.75 interrupts."""


class HardInterrupted(BaseException):
    """As ComfyUI 0.33 and Ctrl-C do: torch calls no hooks for it."""


class Check:
    """Counts the checks of a request and interrupts at one of them."""

    def __init__(self, at=0, error=Interrupted):
        self.count, self.at, self.error = 0, at, error

    def __call__(self):
        self.count += 1
        if self.count == self.at:
            raise self.error


@pytest.fixture
def streaming(loaded):
    """The model with as little of it on the card as possible: every unit's copy is a place to interrupt."""
    card, model = loaded
    card.clear([model])
    card.memory.share = 0.0
    return card, model


def checks_of(card, subject, model, request):
    """How many checks a request makes when the model has just run."""
    for _ in range(2):
        check = Check()
        card.run(subject, model, request, on_check=check)
    return check.count


@pytest.mark.parametrize("error", [Interrupted, HardInterrupted])
def test_an_interrupt_at_any_copy_leaves_nothing_entered(name, subject, streaming, expected, error):  # S137
    card, model = streaming
    brief = subject.briefly()
    request = brief.requests()[0]
    count = checks_of(card, brief, model, request)
    copies = sum(handle._streamer.num_copies for handle in model.handles if handle._streamer) // 2  # two requests
    assert count >= copies
    assert copies or name == "dummy"
    for at in sorted({1, 2, count // 3, count // 2, count - 1}):
        card.clear([model])  # so that the last copies are not there already
        with pytest.raises(error):
            card.run(brief, model, request, on_check=Check(at, error))
    found, report = card.run(brief, model, brief.requests()[0])
    assert differences(found, expected(name, 0, True)) == []
    assert report.applied == {}


@pytest.mark.parametrize("error", [Interrupted, HardInterrupted])
def test_an_interrupt_inside_a_layer_leaves_nothing_entered(name, subject, streaming, expected, error):
    card, model = streaming
    brief = subject.briefly()
    for handle in model.handles:
        with Trap(card, handle) as trap:
            card.run(brief, model, brief.requests()[0])
        for at in sorted({1, math.ceil(trap.most / 2), max(1, trap.most - 1)}):
            with Trap(card, handle, at, error=error), pytest.raises(error):
                card.run(brief, model, brief.requests()[0])
    found, _ = card.run(brief, model, brief.requests()[0])
    assert differences(found, expected(name, 0, True)) == []


def test_killed_generations_leak_nothing(name, subject, streaming, expected):
    card, model = streaming
    brief = subject.briefly()
    request = brief.requests()[-1]
    count = checks_of(card, brief, model, request)
    tensors = []
    for number in range(1, KILLS + 1):
        with pytest.raises(Interrupted):
            card.run(brief, model, request, on_check=Check(1 + number % (count - 1)))
        assert card.simulated.used_bytes == sum(handle.loaded_bytes for handle in model.handles)
        if number % 10 == 0:
            card.clear([model])  # the next one makes a new ring
        if number in (KILLS // 10, KILLS):
            tensors.append(live_tensors())
    assert tensors[0] == tensors[1]
    found, _ = card.run(brief, model, brief.requests()[0])
    assert differences(found, expected(name, 0, True)) == []


def test_models_that_come_and_go_leave_nothing(subject):  # C13, the half that can be counted
    brief, card = subject.briefly(), Card(manager=Shares)
    card.memory.share = 0.5
    tensors = []
    for number in range(ROUNDS):
        model = card.runtime.model("key", "model", partial(card.load, brief))
        card.run(brief, model.engine, brief.requests()[-1])
        handles = [weakref.ref(handle) for handle in model.handles]
        modules = [weakref.ref(handle.module) for handle in model.handles]
        expected_bytes = sum(handle.size_bytes for handle in model.handles)
        assert card.runtime.release() >= expected_bytes
        assert [ref() for ref in (*handles, *modules)] == [None] * 2 * len(handles)
        assert card.simulated.used_bytes == 0
        if number in (1, ROUNDS - 1):
            tensors.append(live_tensors())
        del model
    assert tensors[0] == tensors[1]
