"""What is told of the runtime, and when, with a server whose loop goes by a clock of its own."""

import sys
import types
from itertools import pairwise
from types import SimpleNamespace

import pytest


class Desk:
    """A server with one client, and a runtime that counts how often it is looked at."""

    def __init__(self, events):
        self.now, self.later, self.told, self.looks, self.state = 1000.0, [], [], 0, ""
        self.server = SimpleNamespace(
            sockets={"a client": None},
            loop=SimpleNamespace(call_soon_threadsafe=lambda call, *args: call(*args), call_later=self.call_later),
            send_sync=lambda event, data: self.told.append((round(self.now - 1000, 3), event, data)),
        )
        self.announcer = events.Announcer(self.look, lambda: self.now)

    def look(self):
        self.looks += 1
        if self.state == "broken":
            raise ValueError(self.state)
        return self.state

    def call_later(self, delay, call, *args):
        self.later.append((self.now + delay, call, args))

    def wait(self, seconds):
        """Let time pass, and the loop do what is due."""
        self.now += seconds
        due = [each for each in self.later if each[0] <= self.now + 1e-9]
        self.later = [each for each in self.later if each not in due]
        for _, call, args in due:
            call(*args)

    def change(self, state):
        self.state = state
        self.announcer.changed()


@pytest.fixture
def desk(packages_without_comfyui, monkeypatch):
    from mizuoto.nodes.host import runtime_events

    desk = Desk(runtime_events)
    module = types.ModuleType("server")
    module.PromptServer = SimpleNamespace(instance=desk.server)
    monkeypatch.setitem(sys.modules, "server", module)
    return desk


def test_the_first_is_told_at_once_and_the_last_is_never_lost(desk):
    for index in range(100):
        desk.change(index)
        desk.wait(0.01)
    desk.wait(0.25)
    times, states = [at for at, _, _ in desk.told], [state for _, _, state in desk.told]
    assert {event for _, event, _ in desk.told} == {"mizuoto.runtime"}
    assert times[0] <= 0.01
    assert states[-1] == 99
    assert 4 <= len(times) <= 6, times
    assert min(after - before for before, after in pairwise(times)) >= 0.24
    assert not desk.later, "nothing waits while nothing changes"


def test_nothing_is_looked_at_without_a_client(desk):
    desk.server.sockets.clear()
    desk.change("alone")
    desk.wait(10)
    desk.announcer.tick()
    assert (desk.looks, desk.told, desk.later) == (0, [], [])
    sys.modules["server"].PromptServer = object  # no server at all
    desk.change("nobody")
    assert desk.looks == 0


def test_a_long_phase_is_looked_at_once_a_second(desk):
    for _ in range(1000):
        desk.announcer.tick()
        desk.wait(0.003)
    assert desk.looks == 3
    assert len(desk.told) == 3


def test_an_error_is_logged_once_and_breaks_nothing(desk, caplog):
    for _ in range(3):
        desk.change("broken")
    assert caplog.text.count("cannot be told what changed") == 1
    desk.change("mended")
    desk.wait(0)
    assert [state for _, _, state in desk.told] == ["mended"]

    def closed(*_):
        raise RuntimeError("Event loop is closed")

    working, desk.server.loop.call_soon_threadsafe = desk.server.loop.call_soon_threadsafe, closed
    desk.change("unheard")
    desk.server.loop.call_soon_threadsafe = working
    desk.change("heard")
    desk.wait(1)
    assert desk.told[-1][2] == "heard"
