"""The pictures of the page in the README.

After a change of what they show, run this file with MIZUOTO_WRITE_PICTURES=1 and look at what it wrote.
"""

import os
import re
from pathlib import Path

import pytest
from mizuoto.tests.browser import steps

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "web" / "images"
READMES = (ROOT / "README.md", ROOT / "README.zh.md")
WINDOW = {"width": 1400, "height": 820}
MAX_BYTES = 122_880
WAIT_MS = 1500  # until what moves in the page has come to rest
TEXT = (
    "A shopkeeper hired a new night watchman. The man swore that he was the lightest sleeper in the city: the smallest "
    "sound, even the footsteps of a cat, would wake him. So the shopkeeper slept well.\n\n"
    "In the morning the shop was empty. The watchman had heard nothing, he said, for he had not slept at all. He had "
    "been listening for a cat the whole night long, and of a cart with two horses nobody had told him a word.\n\n"
    "The shopkeeper bought a dog."
)
# Clear of the side bar and the open panel.
PLACE = """([left, top, scale]) => {
    const { ds } = window.app.canvas;
    ds.scale = scale;
    ds.offset = [left / scale, top / scale];
    window.app.canvas.setDirty(true, true);
}"""
WRITE = "(text) => { app.graph.nodes.find((node) => node.type === 'MizuotoSpeak').widgets[0].value = text; }"
SETTINGS = "() => void window.app.extensionManager.command.execute('Comfy.ShowSettingsDialog')"


@pytest.fixture
def wide_page(browser, page_host):
    """A page of a fresh user in a wide window."""
    steps.write_settings(page_host)
    context = browser.new_context(viewport=WINDOW, reduced_motion="reduce", locale="en-GB")
    context.add_init_script(steps.STORED)
    page = context.new_page()
    yield page
    context.close()


def show_panel(page, host):
    """The built-in voice after a run, with the memory panel beside it."""
    page.locator(r".mizuoto\.memory-tab-button").click()
    steps.load(page, ROOT / "workflows" / "Speak.json", "Speak")
    page.evaluate(WRITE, TEXT)
    steps.run(page, host)
    page.locator(".mizuoto-list li").nth(1).wait_for()
    page.evaluate(PLACE, [380, 170, 0.95])


def show_settings(page, _host):
    page.evaluate(SETTINGS)
    page.get_by_role("dialog").get_by_text("Mizuoto", exact=True).click()


def show_download(page, _host):
    """A workflow whose models are not there yet."""
    steps.load(page, ROOT / "workflows" / "F5-TTS clone.json", "F5-TTS clone")
    page.locator(".mizuoto-download").first.wait_for()


SHOW = {"panel": show_panel, "settings": show_settings, "download": show_download}


def test_pictures_are_there_and_small(request):
    if os.environ.get("MIZUOTO_WRITE_PICTURES") == "1":
        page, host = (request.getfixturevalue(name) for name in ("wide_page", "page_host"))
        for name, show in SHOW.items():
            steps.open_page(page, host)
            show(page, host)
            write(page, name)
    named = {name for text in READMES for name in re.findall(r"\(web/images/(.+?)\)", text.read_text(encoding="utf-8"))}
    assert named
    for name in named | {f"{name}.jpg" for name in SHOW}:
        assert (PICTURES / name).stat().st_size <= MAX_BYTES, name


def write(page, name):
    """Take a picture, as good as its size allows."""
    page.wait_for_timeout(WAIT_MS)
    for quality in range(90, 30, -5):
        shot = page.screenshot(type="jpeg", quality=quality)
        if len(shot) <= MAX_BYTES:
            (PICTURES / f"{name}.jpg").write_bytes(shot)
            return
    raise AssertionError(f"the picture of {name} does not become small enough")
