"""A person gets a missing model in the page of a real ComfyUI, from a hub on this machine."""

import shutil

import pytest
from mizuoto.tests.browser import steps
from mizuoto.tests.host.conftest import PACKS
from mizuoto.tests.host.fake_hub import FakeHub
from mizuoto.tests.host.graphs import load, save, speak
from mizuoto.tests.host.offer import CHOICE, NAME, REPO, SIZE, WEIGHTS, files, online, pack

MB = 1 << 20
GRAPH = load(CHOICE) | speak("Hello.") | save(["speak", 0])
LOADER = "window.app.graph.nodes.find((node) => node.type === 'MizuotoLoadModel')"
MODEL = f"{LOADER}.widgets.find((widget) => widget.name === 'model')"


@pytest.fixture(scope="module")
def hub():
    with FakeHub({REPO: files()}) as server:
        yield server


@pytest.fixture(scope="module")
def page_host(hub, start_page_host, tmp_path_factory):
    packs = PACKS | pack(tmp_path_factory.mktemp("offer"))
    host = start_page_host(packs=packs, env=online(hub.url))
    yield host
    host.stop()


def height(page):
    return page.evaluate(f"() => {LOADER}.size[1]")


def test_a_missing_model_is_fetched_and_a_broken_one_refused(page, page_host, hub, shot):
    steps.load(page, load("hibari (built-in)") | speak("Hello.") | save(["speak", 0]), "whole")
    box = page.locator(".mizuoto-download")
    assert not box.is_visible()
    small = height(page)

    steps.load(page, GRAPH)
    box.wait_for()
    text = box.inner_text()
    for told in ("Apache-2.0", "12 MB", f"models/tts/{NAME}", REPO):
        assert told in text
    assert box.get_by_role("link").get_attribute("href") == f"https://huggingface.co/{REPO}"
    assert not hub.requests
    shot("download offered")

    hub.hold(WEIGHTS, 5 * MB)
    box.get_by_role("button", name="Download", exact=True).focus()
    page.keyboard.press("Enter")
    box.get_by_text("42 %").wait_for()
    assert page.evaluate("() => document.activeElement.textContent") == "Pause"
    assert float(box.get_by_role("progressbar").get_attribute("value")) >= 5 * MB
    shot("download running")
    page.keyboard.press("Enter")
    box.get_by_text("paused").wait_for()

    steps.open_page(page, page_host)  # the server knows how far it is
    steps.load(page, GRAPH)
    resume = box.get_by_role("button", name="Resume")
    resume.wait_for()
    steps.set_theme(page, "light")
    shot("download paused light")
    steps.set_theme(page, "dark")
    hub.release()
    resume.click()
    page.wait_for_function(f"(name) => {MODEL}.value === name", arg=NAME)
    box.wait_for(state="hidden")
    assert height(page) == small
    options = page.evaluate(f"() => {MODEL}.options.values")
    assert NAME in options and CHOICE not in options
    assert steps.run(page, page_host).files()
    begins = [each.start or 0 for each in hub.requests if each.path.startswith("/stored") and WEIGHTS in each.path]
    assert begins[0] == 0 and min(begins[1:]) >= 5 * MB  # what was there did not come again

    models = page_host.base / "models" / "tts"
    shutil.rmtree(models / NAME)
    page.evaluate("() => window.app.refreshComboInNodes()")  # the key R
    hub.lies[WEIGHTS] = bytes(SIZE)
    box.get_by_role("button", name="Download", exact=True).click()
    box.get_by_text("came with a wrong checksum and was deleted").wait_for()
    shot("download refused")
    box.get_by_role("button", name="Cancel").click()
    box.get_by_role("button", name="Download", exact=True).wait_for()
    assert list(models.iterdir()) == []
