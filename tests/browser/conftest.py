"""Fixtures that give tests a browser with the page of a real ComfyUI, which has this pack in it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mizuoto.devtools.host import ensure_front_end
from mizuoto.tests.browser import chromium, steps
from mizuoto.tests.host import qwen
from mizuoto.tests.host.comfy import Comfy
from mizuoto.tests.host.conftest import PACKS
from mizuoto.tests.host.conftest import host_path as host_path
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

HERE = Path(__file__).resolve().parent
SHOTS = HERE.parents[1] / ".host" / "screenshots"
WINDOW = {"width": 1280, "height": 800}

Shot = Callable[..., Path]
StartPageHost = Callable[..., Comfy]
_running: list[Comfy] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    if report.failed and HERE in item.path.parents:
        report.sections += [("log of ComfyUI", host.log_tail()) for host in _running]
        page = getattr(item, "funcargs", {}).get("page")
        if page is not None and report.when == "call":
            report.sections.append(("screenshot", str(_keep(page, f"failed {item.name}"))))
    return report


@pytest.fixture(scope="session")
def start_page_host(host_path: Path) -> Iterator[StartPageHost]:
    """Starts a ComfyUI with its page, `start_page_host("--cpu", ...)`; keyword arguments go to `Comfy`.

    It is stopped when all tests are done, or by its `stop`.
    """
    packages = ensure_front_end(host_path, Path(sys.executable))
    mine: list[Comfy] = []

    def start(*arguments: str, env: dict[str, str] | None = None, **options: object) -> Comfy:
        front_end = packages / "comfyui_frontend_package" / "static"
        env = {"PYTHONPATH": str(packages), **(env or {})}
        arguments = arguments or ("--cpu",)
        host = Comfy(host_path, arguments=arguments, front_end=front_end, env=env, **{"packs": PACKS, **options})
        mine.append(host)
        _running.append(host)
        return host.start()

    yield start
    for host in mine:
        _running.remove(host)
        host.stop()


@pytest.fixture(scope="session")
def page_host(start_page_host: StartPageHost) -> Comfy:
    """One running ComfyUI with its page for all tests, with tiny Qwen3-TTS checkpoints in it; see `qwen.install`."""
    host = start_page_host()
    qwen.install(host)
    return host


@pytest.fixture(scope="session")
def schemas(page_host: Comfy) -> dict[str, Any]:
    """What `page_host` says of its nodes."""
    return page_host.get("/object_info")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One running Chromium; that there is none is a failure, and it says how to get one."""
    with sync_playwright() as playwright:
        try:
            running = chromium.launch(playwright)
        except FileNotFoundError as missing:
            pytest.fail(str(missing), pytrace=False)
        yield running
        running.close()


@pytest.fixture(scope="session")
def context(browser: Browser) -> BrowserContext:
    """What all pages share, so that the page's scripts are fetched and compiled once."""
    context = browser.new_context(viewport=WINDOW, reduced_motion="reduce", locale="en-US")
    context.add_init_script(steps.STORED)
    return context


@pytest.fixture
def complaints() -> list[str]:
    """What went wrong in `page` because of the pack: a test that means it to takes this, looks, and clears it."""
    return []


@pytest.fixture
def blank_page(context: BrowserContext, complaints: list[str]) -> Iterator[Page]:
    """A page that shows nothing yet, for a host of the test's own; fails on every complaint that is left at the end."""
    page = context.new_page()
    steps.watch(page, complaints)
    yield page
    page.wait_for_timeout(0)  # what the browser has told by now is taken in
    page.close()
    assert not complaints, "\n".join(complaints)


@pytest.fixture
def page(blank_page: Page, page_host: Comfy) -> Page:
    """The page of `page_host` for a fresh user, ready to be used; fails as `blank_page` does."""
    steps.forget(blank_page, page_host)
    steps.write_settings(page_host)
    steps.open_page(blank_page, page_host)
    return blank_page


@pytest.fixture
def shot(page: Page) -> Shot:
    """Keeps a picture, `shot("panel dark", clip=...)`, as a file in `.host/screenshots`; its path."""
    return lambda name, **options: _keep(page, name, **options)


def _keep(page: Page, name: str, **options: object) -> Path:
    SHOTS.mkdir(parents=True, exist_ok=True)
    path = SHOTS / f"{''.join(char if char.isalnum() or char in ' -_' else '_' for char in name)}.png"
    page.screenshot(path=path, **options)
    return path
