"""The pictures in the help pages: every node as it is today.

After a change of what a node has or looks like, run this file with MIZUOTO_WRITE_PICTURES=1 and look at what it wrote.
"""

import os
from pathlib import Path

import pytest
from mizuoto.tests.browser import steps
from PIL import Image

PICTURES = Path(__file__).resolve().parents[2] / "web" / "images" / "nodes"
WIDTH, MARGIN, SHARPNESS = 320, 12, 2  # of the page's pixels; each is so many pixels of a picture
MAX_BYTES = 40_960
# Of the height: front ends round differently, and a line of a node is more than that.
TOLERANCE = 6  # pixels of a picture
# Nodes stay in the graph: another one with the number of a removed one would get its values.
SHOW = """async ([type, width, margin]) => {
    const { app, LiteGraph } = window;
    const node = LiteGraph.createNode(type);
    app.graph.add(node);
    app.graph.nodes.filter((other) => other !== node).forEach((other) => (other.pos = [-9000, -9000]));
    const least = node.computeSize();
    node.setSize([Math.max(least[0], 300), Math.max(least[1], node.size[1])]);
    node.badges = [];
    const { ds, canvas } = app.canvas;
    const at = canvas.getBoundingClientRect();
    ds.scale = (width - 2 * margin) / node.size[0];
    const [left, top] = [400, 150]; // clear of the side bar and the tabs
    const title = LiteGraph.NODE_TITLE_HEIGHT;
    node.pos = [0, title];
    ds.offset = [(left + margin - at.x) / ds.scale, (top + margin - at.y) / ds.scale];
    app.canvas.setDirty(true, true);
    const height = Math.round((node.size[1] + title) * ds.scale) + 2 * margin;
    return { x: left, y: top, width, height };
}"""


@pytest.fixture
def sharp_page(browser, page_host):
    """A page of a fresh user with nothing on its canvas, not even the grid."""
    steps.write_settings(page_host)
    context = browser.new_context(
        viewport={"width": 1280, "height": 1000}, device_scale_factor=SHARPNESS, reduced_motion="reduce"
    )
    page = context.new_page()
    steps.open_page(page, page_host)
    page.evaluate("() => { window.app.graph.clear(); window.app.canvas.background_image = null; }")
    yield page
    context.close()


def test_every_node_has_a_picture_as_it_is_today(sharp_page, page_host):
    nodes = page_host.get("/object_info")
    ours = [name for name, info in nodes.items() if name.startswith("Mizuoto") and "tests" not in info["category"]]
    seen = {name: sharp_page.evaluate(SHOW, [name, WIDTH, MARGIN])["height"] * SHARPNESS for name in ours}
    if os.environ.get("MIZUOTO_WRITE_PICTURES") == "1":
        for name in ours:
            write(sharp_page, name)
    pictures = {path.stem: path for path in PICTURES.iterdir()}
    assert sorted(pictures) == sorted(ours)
    heights = {name: Image.open(path).height for name, path in pictures.items()}
    assert heights == {name: pytest.approx(height, abs=TOLERANCE) for name, height in seen.items()}


def write(page, name):
    """Take the picture of a node, as good as its size allows."""
    clip = page.evaluate(SHOW, [name, WIDTH, MARGIN])
    page.wait_for_timeout(500)  # text boxes follow their nodes
    PICTURES.mkdir(parents=True, exist_ok=True)
    for quality in range(85, 20, -10):
        shot = page.screenshot(type="jpeg", quality=quality, clip=clip)
        if len(shot) <= MAX_BYTES:
            (PICTURES / f"{name}.jpg").write_bytes(shot)
            return
    raise AssertionError(f"the picture of {name} does not become small enough")
