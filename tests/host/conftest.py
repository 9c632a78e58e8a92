"""Fixtures that give tests a real ComfyUI with this pack in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mizuoto.tests.host import qwen
from mizuoto.tests.host.comfy import Comfy

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PACKS = {"ComfyUI-Mizuoto": ROOT, "test_nodes": HERE / "test_nodes"}

StartComfy = Callable[..., Comfy]
_running: list[Comfy] = []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.host)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    if report.failed and HERE in item.path.parents:
        for host in _running:
            report.sections.append((f"log of ComfyUI {' '.join(host.arguments)}", host.log_tail()))
    return report


@pytest.fixture(scope="session")
def host_path() -> Path:
    """Folder of the ComfyUI that the tests run in."""
    host = Path(os.environ.get("COMFYUI_PATH") or ROOT / ".host" / "ComfyUI")
    if (host / "main.py").is_file():
        return host
    reason = f"no ComfyUI in {host}: `python dev.py test` builds one, or set COMFYUI_PATH"
    if os.environ.get("MIZUOTO_REQUIRE_HOST") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def comfy(host_path: Path) -> Iterator[Comfy]:
    """One running ComfyUI for the whole session, started with --cpu, with the pack and the test nodes in it."""
    yield from _started(Comfy(host_path, packs=PACKS))


@pytest.fixture(scope="session")
def our_nodes(comfy: Comfy) -> dict[str, dict]:
    """The pack's nodes as the host lists them: {id: entry}."""
    nodes = comfy.get("/object_info")
    return {
        name: info for name, info in nodes.items() if name.startswith("Mizuoto") and "tests" not in info["category"]
    }


@pytest.fixture(scope="session")
def qwen_models(comfy: Comfy) -> None:
    """Tiny Qwen3-TTS checkpoints in the session's host; see `qwen.install`."""
    qwen.install(comfy)


@pytest.fixture
def start_comfy(host_path: Path) -> Iterator[StartComfy]:
    """Starts a further ComfyUI with other options for one test: `start_comfy("--cpu", "--cache-none")`.

    Keyword arguments go to `Comfy`. All of them are stopped when the test ends.
    """
    mine: list[Comfy] = []

    def start(*arguments: str, **options: object) -> Comfy:
        host = Comfy(host_path, arguments=arguments, **{"packs": PACKS, **options})
        mine.append(host)
        _running.append(host)
        return host.start()

    yield start
    for host in mine:
        _running.remove(host)
        host.stop()


def _started(host: Comfy) -> Iterator[Comfy]:
    _running.append(host)
    try:
        yield host.start()
    finally:
        _running.remove(host)
        host.stop()
