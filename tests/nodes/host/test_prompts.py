"""Whether ComfyUI is at work, with a queue that has its lock and its list of running prompts."""

import sys
import threading
import types
from types import SimpleNamespace

import pytest


@pytest.fixture
def between_prompts(packages_without_comfyui):
    from mizuoto.nodes.host.prompts import between_prompts

    return between_prompts


@pytest.fixture
def server(monkeypatch):
    module = types.ModuleType("server")
    queue = SimpleNamespace(mutex=threading.RLock(), currently_running={})
    module.PromptServer = type("PromptServer", (), {"instance": SimpleNamespace(prompt_queue=queue)})
    monkeypatch.setitem(sys.modules, "server", module)
    return module.PromptServer


def test_no_prompt_starts_inside(between_prompts, server):
    queue, got = server.instance.prompt_queue, []

    def worker():
        if queue.mutex.acquire(timeout=0.05):
            got.append("a prompt")
            queue.mutex.release()

    def try_to_start():
        thread = threading.Thread(target=worker)
        thread.start()
        thread.join(10)

    with between_prompts() as is_quiet:
        assert is_quiet is True
        try_to_start()
        assert got == []
    try_to_start()
    assert got == ["a prompt"]


def test_a_running_prompt_is_told(between_prompts, server):
    server.instance.prompt_queue.currently_running[7] = ()
    with between_prompts() as is_quiet:
        assert is_quiet is False


@pytest.mark.parametrize("has_it", [True, False])
def test_without_a_server_nobody_can_tell(between_prompts, server, has_it):
    server.instance = None
    if not has_it:
        del server.instance
    with between_prompts() as is_quiet:
        assert is_quiet is False
