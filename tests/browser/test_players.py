"""What nodes show: speech that plays while it is made, references, transcripts with times, the doctor's report."""

import shutil

import pytest
from mizuoto.tests.browser import steps
from mizuoto.tests.host import ear
from mizuoto.tests.host.graphs import TEXT, load, node, speak
from mizuoto.tests.host.qwen import CLIP, CLIPS

HOSTILE = "The <script>document.title = 'attacked'</script> is said like any other text, and <b>nothing</b> else."
BOX = ".mizuoto-box:has(.mizuoto-waveform)"


@pytest.fixture(scope="module")
def recording(page_host):
    """A recording in the voice library, with words that are none of its own."""
    file = page_host.base / "models" / "voices" / "anna.wav"
    file.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(CLIPS / CLIP, file)
    file.with_suffix(".txt").write_text(HOSTILE, encoding="utf-8")
    return file


def columns(box):
    """How many columns its picture of the sound has."""
    return (box.locator(".mizuoto-waveform .sound").get_attribute("d") or "").count("L")


def place(box):
    """Where in the sound it is, in seconds."""
    return int(box.get_by_role("slider").get_attribute("aria-valuenow"))


def is_playing(box):
    return box.locator("audio").evaluate("audio => !audio.paused")


def wait_for_sound(page):
    """Until a player has come on in its sound."""
    page.wait_for_function("() => [...document.querySelectorAll('audio')].some(each => each.currentTime > 0.2)")


def heights(page):
    """Of Speak, as it would be saved, as it is, and as it has to be for all that it shows; and of its text."""
    find = "const node = app.graph.nodes.find(each => each.comfyClass === 'MizuotoSpeak')"
    text = "node.widgets.find(each => each.name === 'text').element.offsetHeight"
    sizes = f"[node.serialize().size[1], node.size[1], node.computeSize()[1], {text}]"
    return page.evaluate(f"() => {{ {find}; return {sizes} }}")


def make_higher(page):
    page.evaluate(
        "() => { const node = app.graph.nodes.find(each => each.comfyClass === 'MizuotoSpeak');"
        "node.setSize([320, node.size[1] + 60]); node.setDirtyCanvas(true, true) }"
    )
    page.wait_for_timeout(200)  # drawn


def test_speech_is_played_and_drawn_while_the_rest_is_made(page, page_host, shot):
    steps.load(page, load() | speak(f"{TEXT} {HOSTILE} " * 6) | node("save", "PreviewAudio", audio=["speak", 0]))
    make_higher(page)
    size, *_, text = heights(page)
    prompt_id = steps.queue(page)
    box = page.locator(BOX)
    box.locator("li").first.wait_for()
    box.get_by_role("button", name="Play", exact=True).click()
    wait_for_sound(page)
    assert page_host.history(prompt_id) is None, "it is still made"
    assert columns(box) > 100
    page_host.wait(prompt_id)
    box.locator("li").nth(2).wait_for()
    assert box.locator(".marks").get_attribute("d").count("V1") >= 2, "where segments begin"
    assert box.evaluate("box => box.offsetHeight <= box.parentElement.offsetHeight"), "it stays in its node"
    assert "<b>nothing</b>" in box.inner_text() and page.title() != "attacked"
    box.locator("li button").nth(2).click()
    assert place(box) > 10 and is_playing(box)
    assert box.locator("[aria-current=true]").count() == 1
    slider = box.get_by_role("slider")
    slider.press("Home")
    assert place(box) < 5 and is_playing(box)
    box.get_by_role("button", name="Pause").click()
    assert not is_playing(box)
    shot("player dark")
    steps.set_theme(page, "light")
    shot("player light")
    assert heights(page)[0] == size, "the player takes room in the saved node"
    assert heights(page)[1] >= heights(page)[2]
    assert heights(page)[3] == text, "the player takes room from the text"
    steps.run(page, page_host)
    assert heights(page)[0] == size, "it grows with each run"


def test_a_recorded_voice_is_played_when_it_is_chosen(page, recording, shot):
    steps.load(page, node("voice", "MizuotoLoadVoice", name=recording.name))
    box = page.locator(BOX)
    box.get_by_text("<script>").wait_for()
    assert columns(box) > 100
    box.get_by_role("button", name="Play", exact=True).click()
    wait_for_sound(page)
    shot("voice")
    page.evaluate("app.graph.clear()")
    assert not page.evaluate("[...document.querySelectorAll('audio')].some(each => !each.paused)")


def test_what_was_heard_is_shown_with_its_times(page, page_host, shot):
    with ear.installed(page_host):
        steps.load(page, ear.clip() | ear.ear() | ear.listen())
        steps.run(page, page_host)
    box = page.locator(BOX)
    passage = box.locator("li").first
    passage.wait_for()
    assert "dashwood" in box.inner_text().lower() and columns(box) > 100
    passage.locator("span").click()
    wait_for_sound(page)
    shot("transcript")


def test_the_doctors_report_has_marks_and_fixes_that_are_copied(page, page_host, shot):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    steps.load(page, node("doctor", "MizuotoDoctor", self_test=False))
    steps.run(page, page_host)
    box = page.locator(".mizuoto-report")
    fix = box.locator(".fix").first
    fix.get_by_role("button", name="Copy").click()
    page.get_by_text("Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == fix.locator("code").inner_text()
    assert box.get_by_role("img", name="In order").count() > 1
    shot("doctor")
    steps.set_theme(page, "light")
    shot("doctor light")
