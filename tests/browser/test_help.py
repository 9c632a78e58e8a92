"""Help pages as a user opens them: from the node, in the language of the page, with the picture."""

from mizuoto.tests.browser import steps
from mizuoto.tests.host.graphs import spoken

# In the middle of the window, where the buttons of a selected node are not below those of the page.
SELECT = """(id) => {
    const { canvas, graph, extensionManager } = window.app;
    extensionManager.command.execute("Comfy.Canvas.FitView");
    canvas.selectItems([graph.getNodeById(id)]);
}"""


def open_help(page, title):
    """Open the help of Speak with the button of the selected node, and see what a page has to have."""
    steps.load(page, spoken())
    page.evaluate(SELECT, "speak")
    page.get_by_test_id("info-button").click()
    help_page = page.locator(".node-help-content")
    help_page.locator("h1").get_by_text(title, exact=True).wait_for()
    assert help_page.locator("li", has_text="normalise").count() == 1
    page.wait_for_function("() => document.querySelector('.node-help-content img').naturalWidth === 640")


def test_the_help_of_a_node_opens_with_its_picture_in_both_languages(page, page_host, complaints, shot):
    open_help(page, "Speak")
    shot("help en")
    # Front ends ask for a page of the language first, and then take the one for all languages, which is English.
    complaints[:] = [line for line in complaints if "/docs/MizuotoSpeak/en.md" not in line]
    steps.set_language(page, page_host, "zh")
    open_help(page, "说话（Speak）")
    shot("help zh")
