"""The pack's settings in ComfyUI's Settings dialog: what is changed there is the server's, and comes back."""

import shutil
import time

from mizuoto.tests.browser import steps
from playwright.sync_api import expect

ROUTE = "/mizuoto/settings"


def open_settings(page):
    """The pack's part of the dialog."""
    page.evaluate("() => void window.app.extensionManager.command.execute('Comfy.ShowSettingsDialog')")
    page.get_by_role("dialog").get_by_text("Mizuoto", exact=True).click()
    expect(field(page, "compute.fast")).to_be_visible()


def field(page, key):
    return page.locator(f"[id='Mizuoto.{key}'] input")


def write(page, key, text):
    field(page, key).press("ControlOrMeta+a")
    field(page, key).press_sequentially(text)
    field(page, key).press("Tab")


def wait_until_saved(host, key, value):
    deadline = time.monotonic() + 20
    while (key, value) not in [(row["key"], row["value"]) for row in host.get(ROUTE)["settings"]]:
        assert time.monotonic() < deadline, f"{key} did not become {value}"
        time.sleep(0.05)


def test_a_change_outlives_a_restart_and_a_refusal_says_why(
    page, page_host, start_page_host, tmp_path, shot, complaints
):
    open_settings(page)
    tooltip = "(id) => window.app.ui.settings.settingsParamLookup[id].tooltip"
    assert "Range: 0.5 to 2. Default: 1." in page.evaluate(tooltip, "Mizuoto.hibari.speed")
    write(page, "hibari.speed", "1.5")
    wait_until_saved(page_host, "hibari.speed", 1.5)
    field(page, "compute.attention_strict").or_(page.locator("button[id='Mizuoto.compute.attention_strict']")).click()
    wait_until_saved(page_host, "compute.attention_strict", True)
    complaints.clear()
    write(page, "compute.fast", "tf23")
    expect(page.get_by_text('Did you mean "tf32"?')).to_be_visible()
    expect(field(page, "compute.fast")).to_have_value("host")
    assert [line.split()[0] for line in complaints] == ["400", "console:"], "the answer that was meant"
    complaints.clear()
    shot("settings dark")

    file = page_host.base / "user" / "mizuoto" / "settings.json"
    (tmp_path / "user" / "mizuoto").mkdir(parents=True)
    shutil.copy(file, tmp_path / "user" / "mizuoto")
    page_host.put(ROUTE, {"hibari.speed": None, "compute.attention_strict": None})
    steps.open_page(page, page_host)
    open_settings(page)
    expect(field(page, "hibari.speed")).to_have_value("1")  # the page's own copy is older

    again = start_page_host(links={"user": tmp_path / "user"}, env={"MIZUOTO_OOM_RETRIES": "1"})
    steps.write_settings(again, ColorPalette="light", Locale="zh")
    steps.open_page(page, again)
    open_settings(page)
    expect(field(page, "hibari.speed")).to_have_value("1.5")
    expect(field(page, "compute.oom_retries")).to_be_disabled()
    expect(page.get_by_text("(MIZUOTO_OOM_RETRIES)")).to_be_visible()
    shot("settings light zh")
    page.goto("about:blank")
    again.stop()
