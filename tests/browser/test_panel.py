"""The memory panel as a user has it: what streams and why, releasing it by keyboard, and what can go wrong."""

import json

import pytest
from mizuoto.tests.browser import steps
from mizuoto.tests.host.conftest import PACKS
from mizuoto.tests.host.conftest import ROOT as CHECKOUT
from mizuoto.tests.host.graphs import node, show, spoken
from playwright.sync_api import expect

TAB = r".mizuoto\.memory-tab-button"
PANEL = ".mizuoto-panel"
LISTENERS = """() => {
    window.listening = [];
    const { api } = window.app;
    for (const [name, change] of [["addEventListener", 1], ["removeEventListener", -1]]) {
        const original = api[name];
        api[name] = function (kind, ...rest) {
            if (change > 0) window.listening.push(kind);
            else window.listening.splice(window.listening.indexOf(kind), 1);
            return original.call(this, kind, ...rest);
        };
    }
}"""
SAID = """() => {
    window.said = [];
    const status = document.querySelector(".mizuoto-panel .status");
    new MutationObserver(() => window.said.push(status.textContent)).observe(status, { childList: true });
}"""
FOCUSED = "() => document.activeElement.ariaLabel ?? document.activeElement.textContent"
FITS = f"() => {{ const p = document.querySelector('{PANEL}'); return p.scrollWidth <= p.clientWidth; }}"
WIDEN = f"() => (document.querySelector('{PANEL}').closest('.p-splitterpanel').style.flexBasis = '45%')"


@pytest.fixture(scope="module")
def page_host(start_page_host):
    """A ComfyUI that can be given a small card."""
    return start_page_host(packs={**PACKS, "card_pack": CHECKOUT / "tests" / "bench" / "card_pack"})


@pytest.fixture
def asked(page):
    """The pack's routes that the page has asked since it was opened."""
    urls = []
    page.on("request", lambda request: "/mizuoto/" in request.url and urls.append(request.url.split("/mizuoto/")[1]))
    return urls


def open_panel(page):
    page.locator(TAB).focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(PANEL)


def wait_for(page, text, where=PANEL):
    page.wait_for_function(
        "([where, text]) => document.querySelector(where)?.innerText.includes(text)", arg=[where, text]
    )


def test_what_streams_is_seen_and_released(page, page_host, asked, shot):
    page.evaluate(LISTENERS)
    page_host.run(spoken(seed=301))
    assert (asked, page.evaluate("window.listening")) == ([], []), "a closed panel costs nothing"
    open_panel(page)
    wait_for(page, "where it computes")  # on the CPU nothing has to move
    page_host.run(node("card", "MizuotoBenchCard", size_mb=40) | show(["card", 0]))
    page_host.run(spoken(seed=302))  # by the API: it is told all the same
    wait_for(page, "It streams because the device has no room for all of it")
    wait_for(page, "hibari · codec decoder", f"{PANEL} .run")
    wait_for(page, "MB streamed", f"{PANEL} .run")
    assert page.locator(f"{PANEL} .run polygon").count() == 1
    assert page.locator(f"{PANEL} .run desc").text_content() == page.locator(f"{PANEL} .run p").inner_text()
    page.locator(f"{PANEL} h2").focus()
    reached = []
    for _ in range(3):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(FOCUSED))
    assert reached == ["Release all", "Release hibari (built-in)", "As a table"]
    assert page.evaluate(FITS), "as narrow as the page makes it at first"
    for theme in ("light", "dark"):
        steps.set_theme(page, theme)
        shot(f"panel {theme}")
    page.evaluate(WIDEN)
    page.locator(f"{PANEL} summary").press("Enter")
    expect(page.locator(f"{PANEL} tbody tr")).to_have_count(2)  # which the page fills a moment after it is opened
    shot("panel wide")
    assert asked == ["runtime"], "one question, the rest is told"
    page.get_by_role("button", name="Release hibari (built-in)").press("Enter")
    wait_for(page, "MB released")
    wait_for(page, "No speech model is loaded")
    assert page.evaluate("document.activeElement.textContent") == "Speech memory"  # not lost with its button
    assert page_host.get("/mizuoto/runtime")["models"][0]["loaded_bytes"] == 0
    page.locator(TAB).press("Enter")
    page.wait_for_selector(PANEL, state="detached")
    page_host.run(spoken(seed=303))
    assert asked == ["runtime", "runtime/release"]
    assert page.evaluate("window.listening.filter((kind) => kind.startsWith('mizuoto'))") == []


def test_what_goes_wrong_is_said_and_mended(page, page_host, asked, complaints):
    page_host.run(spoken(seed=304))
    page.route("**/mizuoto/runtime", lambda route: route.fulfill(status=404, body="404: Not Found"))
    open_panel(page)
    wait_for(page, "another version than this page")
    page.unroute("**/mizuoto/runtime")
    page.evaluate(SAID)
    page.evaluate("() => window.app.api.socket.close()")
    wait_for(page, "hibari (built-in)")  # asked again by itself
    assert "The connection to ComfyUI is lost" in page.evaluate("window.said.join()")
    expect(page.locator(f"{PANEL} .status")).to_be_hidden()  # an event may have come before the answer

    snapshot = page_host.get("/mizuoto/runtime")
    run = snapshot["last_run"]
    run["oom"], run["phases"] = 2, [*run["phases"], {**run["phases"][0], "outcome": "oom", "count": 2}]
    evil = "<script>window.evil = 1</script><img src=x onerror='window.evil = 1'>"
    text = json.dumps(snapshot).replace("hibari", json.dumps(evil)[1:-1])
    page.evaluate(
        "(detail) => window.app.api.dispatchEvent(new CustomEvent('mizuoto.runtime', { detail }))", json.loads(text)
    )
    wait_for(page, evil)
    wait_for(page, "memory ran out 2×", f"{PANEL} .run")
    assert page.locator(f"{PANEL} rect.oom").count() == 1
    page.get_by_role("button", name="Release <script>").click()  # which the server does not know
    wait_for(page, 'No model "<script>')
    wait_for(page, "hibari (built-in)")
    assert evil not in page.locator(f"{PANEL} .models").inner_text()
    assert page.evaluate("window.evil") is None
    page_host.run(spoken("Nothing is broken by that.", seed=305))
    wait_for(page, "2 phases", f"{PANEL} .run")
    assert asked == ["runtime", "runtime", "runtime/release", "runtime"]
    assert complaints and all("404" in line for line in complaints), complaints
    complaints.clear()
