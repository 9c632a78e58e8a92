"""The harness itself: what it does in the page is what a person would do, and it sees what goes wrong there."""

from mizuoto.tests.browser import steps
from mizuoto.tests.host.graphs import spoken


def test_a_prompt_is_opened_run_and_seen(page, page_host, shot):
    steps.load(page, spoken())
    kinds = sorted(node["class_type"] for node in steps.prompt_of(page).values())
    assert kinds == ["MizuotoLoadModel", "MizuotoSpeak", "SaveAudio"]
    (file,) = steps.run(page, page_host).files()
    assert page_host.view(file)[:4] == b"fLaC"
    page.wait_for_function("() => document.querySelector('audio')?.duration > 0")
    assert shot("harness").read_bytes()[:4] == b"\x89PNG"


def test_what_the_pack_does_wrong_is_seen_and_nothing_else(page, page_host, complaints):
    fetch = "(route) => fetch(route).then(() => {})"
    page.evaluate(fetch, "/no_such_route")
    page.evaluate("() => console.error('something of somebody else')")
    assert complaints == []
    page.evaluate(fetch, "/mizuoto/no_such_route")
    page.evaluate("() => console.error('broken in mizuoto.preview')")
    page.evaluate("() => setTimeout(() => { throw new Error('mizuoto'); })")
    page.wait_for_timeout(50)
    assert sorted(line.split(":")[0].split()[0] for line in complaints) == ["404", "console", "console", "page"]
    complaints.clear()


def test_language_and_theme_are_switched(page, page_host, shot):
    steps.set_theme(page, "light")
    light = shot("harness light").read_bytes()
    steps.set_theme(page, "dark")
    assert shot("harness dark").read_bytes() != light
    steps.set_language(page, page_host, "zh")
    steps.load(page, spoken())
    assert page.get_by_role("button", name="运行").first.is_visible()
    shot("harness zh")
